//! Which questions need no research.

use antiphon_systems::deep_research::direct_response::DirectResponse;

fn is_admissible(query: &str, conversation: &[&str], response: &str) -> bool {
    DirectResponse { query, conversation, response: Some(response) }.is_admissible()
}

/// DR-01 of `docs/systems/deep-research.md`: what counts as a greeting.
#[test]
fn small_talk_is_answered_whatever_the_answer_says() {
    for query in ["Hi!", "Hello there", "Good morning!", "Thanks, bye.", "Guten Tag", "你好"] {
        assert!(is_admissible(query, &[], "Hello, I am Qwen, made by Alibaba Cloud."), "{query}");
    }
}

#[test]
fn questions_about_the_assistant_are_answered_without_figures() {
    for query in ["How are you?", "Who are you?", "What can you do?", "Wer bist du?", "What's up?"]
    {
        assert!(is_admissible(query, &[], "I help with research."), "{query}");
        assert!(!is_admissible(query, &[], "I know 4,500 books."), "{query}");
    }
}

#[test]
fn questions_of_fact_are_researched_however_they_are_put() {
    for query in [
        "How many days of leave do I have?",
        "What is AI?",
        "Tell me about the notice periods.",
        "Notice periods in Spain",
        "Is tea healthy?",
        "Hi! When does the office open?",
        "Who is our managing director?",
        "Wie lange zieht grüner Tee?",
        "2 + 2",
    ] {
        assert!(!is_admissible(query, &[], "That is well known."), "{query}");
    }
}

#[test]
fn what_the_conversation_has_is_answered_from_it() {
    let said = ["How long does green tea steep?", "Green tea steeps for two minutes [Tea]."];
    let admits = |query, response| is_admissible(query, &said, response);
    let shorter = "Green tea steeps for two minutes.";
    assert!(admits("What did I ask you before?", shorter));
    assert!(admits("How long does green tea steep?", shorter));
    assert!(!admits("How long does white tea steep?", "It steeps for two minutes."));
    assert!(!admits("How long does green tea steep?", "Green tea steeps for three minutes."));
    assert!(!admits("Does green tea steep?", "The green tea of Uji steeps for two minutes."));
    assert!(!admits("Does green tea steep?", "Yes, its leaves unfold slowly."));
}
