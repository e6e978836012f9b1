//! Plans that need no planner.

use antiphon_systems::plan_execute::{PlanTemplate, PlanTemplates};
use serde_json::json;

use crate::fake_tools::wrong;

fn template(pattern: &str) -> PlanTemplate {
    let plan = json!([[{"tool_name": "population", "sub_task_input": {"city": "{{CITY}}"}}]]);
    PlanTemplate { name: "people".to_owned(), pattern: pattern.to_owned(), plan }
}

#[test]
fn a_calculation_needs_a_number_and_an_operator() {
    let templates = PlanTemplates::new(&[]).unwrap();
    for (task, expression) in [
        ("calculate 2*(3+4)", "2*(3+4)"),
        ("  What is 2 + 2? ", "2 + 2"),
        ("CALCULATE (1.5 - 3) / 2.", "(1.5 - 3) / 2"),
        ("what is -3 * 2", "-3 * 2"),
    ] {
        let (name, plan) = templates.plan_of(task).unwrap();
        assert_eq!(name, "calculator");
        assert_eq!(plan[0][0]["sub_task_input"]["expression"], expression);
        assert_eq!(plan[0][0]["stepId"], "t1");
        assert_eq!(wrong(&plan), Vec::<String>::new());
    }
    for task in ["what is love?", "what is 42?", "calculate", "calculate the tax of 3 + 4", "2 + 2"]
    {
        assert!(templates.plan_of(task).is_none(), "{task}");
    }
}

#[test]
fn a_city_in_quotes_stays_as_it_is() {
    let templates = PlanTemplates::new(&[]).unwrap();
    let (name, plan) = templates.plan_of("What is the weather in \"Bad\" {{City}}?").unwrap();
    assert_eq!(name, "weather");
    let query = &plan[0][0]["sub_task_input"]["query"];
    assert_eq!(query, "current weather in \"Bad\" {{City}}", "a value is not read again");
    assert_eq!(wrong(&plan), Vec::<String>::new());
    assert!(templates.plan_of("weather Lyon").is_some());
    assert!(templates.plan_of("weather").is_none());
}

#[test]
fn templates_of_the_caller_come_first() {
    let own = template("(?:what is the )?weather in (?P<CITY>.+)");
    let templates = PlanTemplates::new(&[own]).unwrap();
    let (name, plan) = templates.plan_of("weather in Lyon").unwrap();
    assert_eq!((name, &plan[0][0]["sub_task_input"]["city"]), ("people", &json!("Lyon")));
}

#[test]
fn a_template_that_cannot_work_is_named_when_the_system_is_made() {
    for (pattern, reason) in [("(", "cannot be read"), ("people of (.+)", "has no group: CITY")] {
        let fault = PlanTemplates::new(&[template(pattern)]).unwrap_err();
        assert_eq!(fault.code, "system_setting_invalid");
        assert!(fault.message.contains("people") && fault.message.contains(reason), "{fault:?}");
    }
}
