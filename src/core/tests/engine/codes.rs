//! The codes of failures.

use antiphon_core::{Category, Fault, FaultCode};

#[test]
fn a_code_and_its_text_convert_into_each_other() {
    for code in FaultCode::ALL {
        assert_eq!(FaultCode::parse(code.as_str()).as_ref(), Some(code));
        let stored = serde_json::to_string(code).unwrap();
        assert_eq!(stored, format!("\"{code}\""));
        assert_eq!(serde_json::from_str::<FaultCode>(&stored).unwrap(), *code);
    }
}

#[test]
fn texts_of_codes_are_sorted_and_unique() {
    let texts: Vec<&str> = FaultCode::ALL.iter().map(FaultCode::as_str).collect();
    assert!(texts.is_sorted_by(|one, next| one < next), "{texts:?}");
}

#[test]
fn a_fault_has_the_category_of_its_code() {
    for code in FaultCode::ALL {
        assert_eq!(Some(Fault::new(code.clone(), "no").category), code.category());
    }
}

#[test]
fn a_host_chooses_the_category_of_its_own_codes() {
    let fault = Fault::foreign(Category::Policy, "no_weekends", "not today");
    assert_eq!((fault.category, fault.code.category()), (Category::Policy, None));
    let stored = serde_json::to_string(&fault).unwrap();
    assert_eq!(serde_json::from_str::<Fault>(&stored).unwrap(), fault);
    let known = Fault::foreign(Category::Internal, "thread_busy", "taken");
    assert_eq!(known.code, FaultCode::ThreadBusy);
    assert_eq!(known.category, Category::Internal);
}

#[test]
fn faults_of_checkpoints_and_of_stores_are_distinguished() {
    assert!(FaultCode::CheckpointCorrupt.is_of_checkpoint());
    assert!(!FaultCode::CheckpointCorrupt.is_of_store());
    assert!(FaultCode::StoreFull.is_of_store());
    assert!(!FaultCode::ThreadBusy.is_of_store());
}
