use super::{Kind, OPENINGS, Plan, STEPS};
use crate::search::Document;
use crate::search::store::Store;

fn store() -> Store {
    let mut store = Store::default();
    store.upsert(&Document {
        key: "t".into(),
        name: "weather_forecast".into(),
        description: "Weather and vehicle data".into(),
        ..Document::default()
    });
    store
}

fn weight(plan: &Plan, text: &str) -> f32 {
    let mut asked = plan.asked.iter();
    asked.find(|a| plan.text(a) == text).unwrap().weight
}

#[test]
fn words_are_weighed() {
    let plan = Plan::of(
        "Please show the weather in Paris for \"harvest\" 2024",
        &store(),
    );
    let texts: Vec<&str> = plan.asked.iter().map(|a| plan.text(a)).collect();
    assert_eq!(texts, ["show", "weather", "paris", "harvest", "2024"]);
    assert!(weight(&plan, "show") < weight(&plan, "paris"));
    assert!(weight(&plan, "paris") < weight(&plan, "weather"));
    assert!(weight(&plan, "harvest") < weight(&plan, "weather"));
    assert!(weight(&plan, "2024") < weight(&plan, "show"));
}

#[test]
fn sentences_and_steps_are_clauses() {
    let clauses = |text: &str| Plan::of(text, &store()).clauses;
    assert_eq!(clauses("forecast weather storm"), 1);
    assert_eq!(clauses("Forecast the weather. Book a flight."), 2);
    assert_eq!(clauses("Forecast the weather then book a flight"), 2);
    assert_eq!(clauses("Yes. Forecast the weather."), 1);
    assert!(clauses(&"one two three. ".repeat(100)) <= super::MAX_CLAUSES);
}

#[test]
fn relatives_come_along() {
    let store = store();
    let plan = Plan::of("car", &store);
    assert_eq!(
        plan.terms(&plan.asked[0])[0].0,
        store.number("vehicl").unwrap()
    );
    let plan = Plan::of("天气", &store);
    let translated = plan.asked.iter().find(|a| a.kind == Kind::Word).unwrap();
    assert_eq!(
        plan.terms(translated)[0].0,
        store.number("weather").unwrap()
    );
    let plan = Plan::of("wether", &store);
    assert_eq!(
        plan.terms(&plan.asked[0])[0].0,
        store.number("weather").unwrap()
    );
}

#[test]
fn tables_are_sorted() {
    assert!(OPENINGS.is_sorted());
    assert!(STEPS.is_sorted());
}
