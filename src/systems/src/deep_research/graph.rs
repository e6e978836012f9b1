//! The graph: classify, plan, research step by step, reflect, write.

use antiphon_core::Fault;
use antiphon_core::graph::{END, START};

use super::config::Config;
use super::next_node::{NextNode, route};
use super::{
    DeepResearch, citing, coordinator, lookup, planner, react, reflector, step, synthesis,
};
use crate::builder::{RoleDefaults, SystemBuilder};
use crate::citation;
use crate::role::RoleSpec;

const BEGIN: &str = "begin";
/// One search.
pub(super) const SEARCH: &str = "search";
/// One page.
pub(super) const READ: &str = "read";
const COORDINATE_PLAINLY: &str = "coordinate_plainly";
const BACKGROUND_PLAINLY: &str = "background_plainly";
const PLAN_PLAINLY: &str = "plan_plainly";
const QUERIES_PLAINLY: &str = "queries_plainly";
const REFLECT_PLAINLY: &str = "reflect_plainly";
/// Takes over a report whose claims were verified.
const CITED: &str = "take_report";
const RESPOND_FAILED: &str = "respond_failed";

/// The roles, in the order in which they work.
pub(super) const ROLES: &[RoleSpec] = &[
    role("coordinator", "Classifies the question."),
    role("background", "Chooses the searches before the first plan."),
    role("planner", "Plans the steps."),
    role("researcher", "Searches, reads and observes in a step."),
    role("reflector", "Decides after each step how the research goes on."),
    role("synthesiser", "Writes the report."),
    role("responder", "Answers without research."),
    citation::role::PASSAGE_EXTRACTOR,
    citation::role::REPORTER,
    citation::role::VERIFIER,
    citation::role::QUICK_VERIFIER,
    citation::role::CITATION_ARBITER,
    citation::role::NUMBER_CHECKER,
    citation::role::CLAIM_SPLITTER,
    citation::role::ENTAILMENT_JUDGE,
    citation::role::REVISER,
];

const fn role(name: &'static str, description: &'static str) -> RoleSpec {
    RoleSpec { name, description, has_tools: false }
}

/// Adds everything to the graph.
pub(super) fn build(config: &Config, graph: &mut SystemBuilder<DeepResearch>) -> Result<(), Fault> {
    use NextNode::{
        Background, Cite, Clarify, ConcludeStep, Coordinate, Deliver, FallBack, Observe, Plan,
        Queries, Reflect, ReportPlainly, Research, Respond, RouteStep, Synthesize, Write,
    };
    let Config { temperature, max_reasks, .. } = *config;
    graph.defaults(RoleDefaults { temperature, max_reasks, tool_timeout: None });
    graph.node(BEGIN, coordinator::begin).edge(START, BEGIN);
    then(graph, BEGIN, &[Coordinate, RouteStep, Respond, Deliver, FallBack]);

    graph.role(Coordinate.as_str(), coordinator::coordinator())?;
    graph.on_error_goto(Coordinate.as_str(), COORDINATE_PLAINLY);
    graph.node(COORDINATE_PLAINLY, coordinator::coordinate_plainly);
    graph.node(Clarify.as_str(), coordinator::clarify);
    let classified = [Background, Plan, Clarify, Respond, Deliver, Synthesize];
    then(graph, Coordinate.as_str(), &classified);
    then(graph, COORDINATE_PLAINLY, &classified);
    then(graph, Clarify.as_str(), &[Coordinate]);

    graph.role(Background.as_str(), coordinator::background())?;
    graph.on_error_goto(Background.as_str(), BACKGROUND_PLAINLY);
    graph.node(BACKGROUND_PLAINLY, coordinator::background_plainly);
    look_up(graph, Background.as_str(), &[ConcludeStep]);
    look_up(graph, BACKGROUND_PLAINLY, &[ConcludeStep]);

    graph.role(Plan.as_str(), planner::planner())?;
    graph.on_error_goto(Plan.as_str(), PLAN_PLAINLY).node(PLAN_PLAINLY, planner::plan_plainly);
    let planned = [RouteStep, Plan, Synthesize, Respond];
    then(graph, Plan.as_str(), &planned);
    then(graph, PLAN_PLAINLY, &planned);

    graph.node(RouteStep.as_str(), step::route_step);
    let successors = [Queries, Research, Observe, Synthesize, ConcludeStep, FallBack];
    then(graph, RouteStep.as_str(), &successors);
    add_step(graph)?;

    graph.role(Reflect.as_str(), reflector::reflector())?;
    graph.on_error_goto(Reflect.as_str(), REFLECT_PLAINLY);
    graph.node(REFLECT_PLAINLY, reflector::reflect_plainly);
    then(graph, Reflect.as_str(), &[RouteStep, Plan, Synthesize]);
    then(graph, REFLECT_PLAINLY, &[RouteStep, Plan, Synthesize]);

    graph.node(Synthesize.as_str(), synthesis::synthesize);
    then(graph, Synthesize.as_str(), &[Write, Cite, Deliver, FallBack]);
    citation::add(graph, CITED, config.output.as_ref())?;
    graph.node(CITED, citing::take_report);
    then(graph, CITED, &[Deliver, ReportPlainly, FallBack]);
    graph.role_of_any_reply(Write.as_str(), synthesis::synthesiser())?;
    graph.on_error_goto(Write.as_str(), ReportPlainly.as_str());
    graph.node(ReportPlainly.as_str(), synthesis::report_plainly);
    then(graph, Write.as_str(), &[Deliver, ReportPlainly, FallBack]);
    then(graph, ReportPlainly.as_str(), &[Deliver, FallBack]);
    graph.node(FallBack.as_str(), synthesis::fall_back);
    then(graph, FallBack.as_str(), &[Respond]);
    graph.role_of_any_reply(Respond.as_str(), synthesis::responder())?;
    graph.on_error_goto(Respond.as_str(), RESPOND_FAILED);
    graph.node(RESPOND_FAILED, synthesis::respond_failed);
    then(graph, Respond.as_str(), &[Deliver]);
    then(graph, RESPOND_FAILED, &[Deliver]);
    graph.node(Deliver.as_str(), synthesis::deliver).edge(Deliver.as_str(), END);
    graph.on_budget(ReportPlainly.as_str());
    Ok(())
}

/// The nodes of one step.
fn add_step(graph: &mut SystemBuilder<DeepResearch>) -> Result<(), Fault> {
    use NextNode::{
        ConcludeStep, FallBack, LookUp, Observe, Plan, Queries, Reflect, Research, Synthesize,
    };
    graph.node(SEARCH, lookup::search).node(READ, lookup::read);
    graph.node(LookUp.as_str(), lookup::collect);
    graph.edge(SEARCH, LookUp.as_str()).edge(READ, LookUp.as_str());
    // A search or a page that took too long has no record, and the others count.
    graph.on_error_record(SEARCH).on_error_record(READ);
    let collected = [Plan, Observe, Research, ConcludeStep, Synthesize, FallBack];
    look_up(graph, LookUp.as_str(), &collected);

    graph.role(Queries.as_str(), step::queries())?;
    graph.on_error_goto(Queries.as_str(), QUERIES_PLAINLY);
    graph.node(QUERIES_PLAINLY, step::queries_plainly);
    look_up(graph, Queries.as_str(), &[ConcludeStep, FallBack]);
    look_up(graph, QUERIES_PLAINLY, &[ConcludeStep, FallBack]);

    graph.role(Research.as_str(), react::researcher())?;
    graph.on_error_goto(Research.as_str(), ConcludeStep.as_str());
    let concluded = [Reflect, Synthesize, FallBack];
    look_up(graph, Research.as_str(), &[Research, ConcludeStep, Reflect, Synthesize]);
    graph.role_of_any_reply(Observe.as_str(), step::observe())?;
    graph.on_error_goto(Observe.as_str(), ConcludeStep.as_str());
    graph.node(ConcludeStep.as_str(), step::conclude_step);
    then(graph, Observe.as_str(), &concluded);
    then(graph, ConcludeStep.as_str(), &concluded);
    Ok(())
}

/// After a node comes one of these, as it has written.
fn then(graph: &mut SystemBuilder<DeepResearch>, source: &str, nodes: &[NextNode]) {
    let targets: Vec<_> = nodes.iter().map(|node| (node.as_str(), node.as_str())).collect();
    graph.branch(source, "next", &targets, route);
}

/// As [`then`], or searches and pages.
fn look_up(graph: &mut SystemBuilder<DeepResearch>, source: &str, nodes: &[NextNode]) {
    let nodes = nodes.iter().chain([&NextNode::LookUp]);
    let nodes = nodes.map(|node| (node.as_str(), node.as_str()));
    let targets: Vec<_> = nodes.chain([(SEARCH, SEARCH), (READ, READ)]).collect();
    graph.branch(source, "next", &targets, route);
}
