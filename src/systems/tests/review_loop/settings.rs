//! The settings.

use antiphon_systems::review_loop::Config;
use serde_json::json;

#[test]
fn every_setting_has_its_documented_default() {
    let expected = json!({
        "retry_limit": 5,
        "per_agent_limits": null,
        "researcher_limit_scope": "question",
        "recursion_limit": 100,
        "researcher_max_tool_calls": 20,
        "expert_max_tool_calls": 15,
        "temperature": null,
        "max_reasks": 1,
        "tool_timeout_s": 30.0,
        "question_timeout_s": 600.0,
        "research_mode": "sequential",
        "max_research_steps": 10,
        "max_expert_steps": 10,
        "critic_context": "full",
        "finalizer_on_failure": "bypass",
        "answer_format": "plain",
        "feedback_type": "instruction",
        "strict_state": true,
        "stop_on_no_progress": false,
        "check_answerability": true,
        "escalate_to_planner": false,
    });
    assert_eq!(json!(Config::default()), expected);
    assert_eq!(Config::from_json(&expected).unwrap(), Config::default());
}

#[test]
fn what_is_out_of_range_or_unknown_is_refused_by_name() {
    let refused = [
        (json!({"recursion_limit": 0}), "`recursion_limit` must be at least 1: 0"),
        (json!({"max_expert_steps": 0}), "`max_expert_steps` must be at least 1: 0"),
        (
            json!({"per_agent_limits": {"expert": 0}}),
            "`per_agent_limits.expert` must be at least 1: 0",
        ),
        (json!({"temperature": 3}), "`temperature` must be between 0 and 2: 3"),
        (json!({"tool_timeout_s": 0}), "`tool_timeout_s` must be a time in seconds above 0: 0"),
        (json!({"temperature": "hot"}), "`temperature` must be a number: \"hot\""),
        (json!({"retry_limit": -1}), "`retry_limit` must be a non-negative integer: -1"),
        (json!({"strict_state": 1}), "`strict_state` must be true or false: 1"),
        (json!({"per_agent_limits": 1}), "`per_agent_limits` must be an object: 1"),
        (
            json!({"research_mode": "wild"}),
            "`research_mode` must be `sequential` or `parallel`: \"wild\"",
        ),
        (json!({"retries": 1}), "unknown setting of the review loop: retries"),
        (
            json!({"question_timeout_s": -1}),
            "`question_timeout_s` must be a time in seconds above 0: -1",
        ),
    ];
    for (settings, message) in refused {
        let fault = Config::from_json(&settings).unwrap_err();
        assert_eq!(
            (fault.code.as_str(), fault.message.as_str()),
            ("system_setting_invalid", message)
        );
    }
    let fault = Config::from_json(&json!({"per_agent_limits": {"critic": 1}})).unwrap_err();
    assert_eq!(fault.code, "system_setting_invalid");
    assert_eq!(fault.message, "unknown setting of the review loop: per_agent_limits.critic");
    assert!(fault.hint.as_ref().unwrap().contains("researcher"));
    let fault = Config::from_json(&json!({"retries": 1})).unwrap_err();
    assert!(fault.hint.as_ref().unwrap().contains("retry_limit"));
}
