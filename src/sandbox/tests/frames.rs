//! Frames come together however they are cut, and never cost more than their bound.

use antiphon_sandbox::frame::{
    AHEAD, FrameBounds, FrameKind, FrameParser, HEADER, ProtocolFault, write,
};
use proptest::prelude::*;

const BOUNDS: FrameBounds = FrameBounds { attachment: 4096, call: 64, outcome: 512, ready: 2 };

fn framed(kind: FrameKind, body: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    assert!(write(&mut wire, kind, body));
    wire
}

#[test]
fn a_frame_that_is_too_long_is_refused_at_its_header() {
    let wire = framed(FrameKind::Call, &[b'x'; 65]);
    let mut parser = FrameParser::new();
    parser.push(&wire[..HEADER]);
    assert_eq!(parser.next(&BOUNDS), Err(ProtocolFault::TooLong(FrameKind::Call, 65)));
    assert_eq!(parser.wants(&BOUNDS), Err(ProtocolFault::TooLong(FrameKind::Call, 65)));
}

#[test]
fn what_nobody_waits_for_is_refused() {
    for kind in [FrameKind::Job, FrameKind::Reply] {
        let mut parser = FrameParser::new();
        parser.push(&framed(kind, b"{}"));
        assert_eq!(parser.next(&BOUNDS), Err(ProtocolFault::Unexpected(kind)));
    }
    let mut parser = FrameParser::new();
    parser.push(&framed(FrameKind::Outcome, b"{}"));
    let idle = FrameBounds { ready: 2, ..FrameBounds::default() };
    assert_eq!(parser.next(&idle), Err(ProtocolFault::Unexpected(FrameKind::Outcome)));
}

#[test]
fn a_kind_that_is_not_known_is_refused() {
    let mut parser = FrameParser::new();
    parser.push(&[1, 0, 0, 0, b'Z']);
    assert_eq!(parser.next(&BOUNDS), Err(ProtocolFault::Unknown(b'Z')));
}

#[test]
fn a_frame_without_a_kind_is_refused() {
    let mut parser = FrameParser::new();
    parser.push(&[0, 0, 0, 0, b'C']);
    assert_eq!(parser.next(&BOUNDS), Err(ProtocolFault::Empty));
}

#[test]
fn a_parser_asks_for_no_more_than_the_frame_it_reads_once_it_knows_its_length() {
    let wire = framed(FrameKind::Call, b"four");
    let mut parser = FrameParser::new();
    assert_eq!(parser.wants(&BOUNDS), Ok(AHEAD));
    parser.push(&wire[..3]);
    assert_eq!(parser.wants(&BOUNDS), Ok(AHEAD - 3));
    parser.push(&wire[3..HEADER]);
    assert_eq!(parser.wants(&BOUNDS), Ok(4));
    parser.push(&wire[HEADER..]);
    assert_eq!(parser.wants(&BOUNDS), Ok(0));
    assert_eq!(parser.next(&BOUNDS), Ok(Some((FrameKind::Call, b"four".to_vec()))));
    assert!(parser.is_empty());
}

fn frame() -> impl Strategy<Value = (FrameKind, Vec<u8>)> {
    let body = prop::collection::vec(any::<u8>(), 0..64);
    (prop::sample::select(vec![FrameKind::Attachment, FrameKind::Call, FrameKind::Outcome]), body)
}

proptest! {
    #[test]
    fn frames_survive_any_cut(
        frames in prop::collection::vec(frame(), 0..8),
        cuts in prop::collection::vec(1_usize..40, 1..64),
    ) {
        let wire: Vec<u8> =
            frames.iter().flat_map(|(kind, body)| framed(*kind, body)).collect();
        let mut parser = FrameParser::new();
        let (mut found, mut at) = (Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            if at == wire.len() {
                break;
            }
            let end = (at + cut).min(wire.len());
            parser.push(&wire[at..end]);
            at = end;
            while let Some(frame) = parser.next(&BOUNDS).unwrap() {
                found.push(frame);
            }
        }
        prop_assert!(parser.is_empty());
        prop_assert_eq!(found, frames);
    }

    #[test]
    fn no_bytes_make_a_parser_ask_for_more_than_its_bound(
        bytes in prop::collection::vec(any::<u8>(), 0..256),
    ) {
        let mut parser = FrameParser::new();
        parser.push(&bytes);
        while let Ok(Some((_, body))) = parser.next(&BOUNDS) {
            prop_assert!(body.len() <= 4096);
        }
        if let Ok(wanted) = parser.wants(&BOUNDS) {
            prop_assert!(wanted <= HEADER + 4096);
        }
    }
}
