//! Reports that were corrupted on purpose, and how much of it the stages repair or find.

use antiphon_citation::check_numbers;
use serde_json::json;

use crate::scene::Scene;

const ISLES: [&str; 20] = [
    "Orrel", "Merrow", "Skell", "Hamn", "Kvist", "Linne", "Brask", "Lund", "Tarn", "Vell", "Osk",
    "Rund", "Fjall", "Grim", "Halse", "Ister", "Jarn", "Kolm", "Nord", "Pell",
];

fn fact(place: usize) -> String {
    let (isle, litres) = (ISLES[place], 310 + 17 * place);
    format!("The lamp of {isle} burns {litres} litres of oil a year and is kept by its village.")
}

/// DR-23 of `docs/systems/deep-research.md`: 30 % of the citations of a report are wrong.
#[test]
fn all_wrong_citations_are_replaced_where_the_right_evidence_is_known() {
    let page: Vec<String> = (0..ISLES.len()).map(fact).collect();
    let page: Vec<&str> = page.iter().map(String::as_str).collect();
    let (mut wrong, mut repaired, mut broken) = (0, 0, 0);
    for shift in 1..ISLES.len() {
        let is_wrong = |place: usize| matches!(place % 10, 0 | 3 | 7);
        let cited = |place: usize| {
            if is_wrong(place) { ISLES[(place + shift) % ISLES.len()] } else { ISLES[place] }
        };
        let sentence =
            |place: usize| fact(place).replace('.', &format!(" {{lamp of {}}}.", cited(place)));
        let text: Vec<String> = (0..ISLES.len()).map(sentence).collect();
        let mut scene = Scene::new(&page);
        scene.input.question = "How much oil does each lamp of the isles burn a year?".to_owned();
        let run = scene
            .writes(&text.join(" "))
            .verifies(|item| {
                let is_right = item.evidence.iter().any(|one| one.text == item.claim);
                json!(if is_right { "supported" } else { "unsupported" })
            })
            .run();
        run.assert_clean();
        for (place, isle) in ISLES.iter().enumerate() {
            let claim = run.claim(&format!("lamp of {isle} "));
            let quotes = run.result.evidence.iter().filter(|one| claim.evidence.contains(&one.id));
            let is_right = quotes.map(|one| &one.quote).eq([&fact(place)]);
            wrong += usize::from(is_wrong(place));
            repaired += usize::from(is_wrong(place) && is_right);
            broken += usize::from(!is_wrong(place) && !is_right);
        }
    }
    assert_eq!((wrong, repaired, broken), (114, 114, 0));
}

/// DR-25 of `docs/systems/deep-research.md`: another name, period, unit, rate or number, more
/// digits, another scale.
#[test]
fn all_mutations_of_numbers_are_found() {
    let (mut found, mut all) = (0, 0);
    for (place, isle) in ISLES.iter().enumerate() {
        let (year, whole) = (1850 + place, 3 + place);
        let evidence = format!(
            "In {year} the mill of {isle} sold {whole}.27 million sacks for 412 crowns a sack, and \
             the mill of Ardal sold 12,4{whole:02} sacks."
        );
        let sold = |year: usize, isle: &str, number: &str| {
            format!("In {year} the mill of {isle} sold {number}.")
        };
        for right in [format!("{whole}.27 million sacks"), format!("{whole}.3 million sacks")] {
            assert!(passes(&sold(year, isle, &right), &evidence), "{right}");
        }
        let number = format!("{whole}.27 million sacks");
        for mutant in [
            sold(year, "Ardal", &number),
            sold(year + 1, isle, &number),
            sold(year, isle, &format!("{whole}.27 million tonnes")),
            sold(year, isle, &format!("{whole}.277 million sacks")),
            sold(year, isle, &format!("{whole}.27 billion sacks")),
            sold(year, isle, &format!("{whole}.27 thousand sacks")),
            sold(year, isle, &format!("{}.27 million sacks", whole + 1)),
            sold(year, isle, "sacks for 412 crowns a year"),
            sold(year, isle, &format!("{number} twice")),
        ] {
            all += 1;
            found += usize::from(!passes(&mutant, &evidence));
        }
    }
    assert_eq!((found, all), (180, 180));
}

fn passes(claim: &str, evidence: &str) -> bool {
    check_numbers(claim, &[evidence], &[]).iter().all(|check| check.status.is_match())
}
