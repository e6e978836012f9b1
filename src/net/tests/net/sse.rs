use antiphon_net::{SseError, SseEvent, SseParser};
use proptest::prelude::*;

fn parse(bytes: &[u8]) -> Vec<SseEvent> {
    SseParser::new(1000).push(bytes).unwrap()
}

fn data(events: &[SseEvent]) -> Vec<&str> {
    events.iter().map(|event| event.data.as_str()).collect()
}

#[test]
fn all_three_line_ends_end_lines() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["data: a", "", "data: b", "", ""].join(end);
        assert_eq!(data(&parse(stream.as_bytes())), ["a", "b"], "{end:?}");
    }
}

#[test]
fn data_lines_are_joined_and_lose_one_space() {
    let events = parse(b"data:  two spaces\ndata:none\ndata\ndata: \n\n");
    assert_eq!(data(&events), [" two spaces\nnone\n\n"]);
}

#[test]
fn kinds_and_ids_are_read_and_an_id_stays() {
    let events = parse(b"event: delta\nid: 7\ndata: a\n\ndata: b\n\n");
    let event = |event: &str, data: &str| SseEvent {
        event: event.into(),
        data: data.into(),
        id: "7".into(),
    };
    assert_eq!(events, [event("delta", "a"), event("", "b")]);
}

#[test]
fn comments_unknown_fields_and_blank_lines_bring_nothing() {
    assert_eq!(parse(b": ping\n\nretry: 10\n\nfoo: bar\n\n\n\nevent: x\n\n"), []);
}

#[test]
fn a_mark_of_byte_order_is_skipped_only_at_the_start() {
    let bom = "\u{feff}";
    let stream = format!("{bom}data: a\n\n{bom}data: b\n\n");
    assert_eq!(data(&parse(stream.as_bytes())), ["a"]);
}

#[test]
fn bytes_that_are_no_text_become_replacement_characters() {
    assert_eq!(data(&parse(b"data: a\xFFb\n\n")), ["a\u{fffd}b"]);
}

#[test]
fn the_last_event_counts_without_its_blank_line() {
    let mut parser = SseParser::new(1000);
    assert_eq!(parser.push(b"data: a\n\ndata: [DONE]").unwrap().len(), 1);
    assert_eq!(parser.finish().unwrap().data, "[DONE]");
    assert_eq!(SseParser::new(10).finish(), None);
}

#[test]
fn an_event_over_the_limit_is_an_error_however_it_comes() {
    let mut at_once = SseParser::new(8);
    assert_eq!(at_once.push(b"data: 123"), Err(SseError::TooLarge { limit: 8 }));
    let mut by_line = SseParser::new(8);
    let result = (0..9).try_for_each(|_| by_line.push(b"data:1\n").map(drop));
    assert_eq!(result, Err(SseError::TooLarge { limit: 8 }));
    let mut small = SseParser::new(8);
    for _ in 0..100 {
        assert_eq!(small.push(b"data: 1\n\n").unwrap().len(), 1);
    }
}

proptest! {
    #[test]
    fn the_cuts_of_the_network_do_not_show(
        lines in prop::collection::vec("(data: |data|event: |: |id:)[äß🦀 a-c:]{0,6}|", 0..12),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n"]), 12),
        cuts in prop::collection::vec(0..200_usize, 0..40),
    ) {
        let stream: String = lines.iter().zip(&ends).flat_map(|(l, e)| [l.as_str(), e]).collect();
        let stream = stream.as_bytes();
        let mut whole = SseParser::new(10_000);
        let mut expected = whole.push(stream).unwrap();
        expected.extend(whole.finish());

        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let mut parser = SseParser::new(10_000);
        let mut events = Vec::new();
        for pair in cuts.windows(2) {
            events.extend(parser.push(&stream[pair[0]..pair[1]]).unwrap());
        }
        events.extend(parser.finish());
        prop_assert_eq!(events, expected);
    }
}
