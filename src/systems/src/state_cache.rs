//! The state as the type that nodes read.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::Fault;
use antiphon_runtime::Snapshot;

use crate::state::SystemState;

/// The state of a run as nodes read it. It is read once for all nodes of a superstep, and of the next
/// one only what has changed, because a node changes a few fields of a state that may hold whole
/// pages.
pub(crate) struct StateCache<S>(Mutex<Option<CachedState<S>>>);

struct CachedState<S> {
    state: Arc<S>,
    revisions: Vec<u64>,
}

impl<S> Default for StateCache<S> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<S: SystemState> StateCache<S> {
    /// The state of a snapshot; all snapshots must be of one run.
    ///
    /// # Errors
    /// A `State` fault `state_unreadable` if a field does not fit.
    pub(crate) fn read(&self, snapshot: &Snapshot) -> Result<Arc<S>, Fault> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match place.take() {
            Some(known) => known.updated(snapshot)?,
            None => Arc::new(snapshot.read()?),
        };
        let revisions = snapshot.revisions().to_vec();
        *place = Some(CachedState { state: Arc::clone(&state), revisions });
        Ok(state)
    }

    /// As [`StateCache::read`], for the last time.
    ///
    /// # Errors
    /// As [`StateCache::read`].
    pub(crate) fn take(&self, snapshot: &Snapshot) -> Result<S, Fault> {
        let state = self.read(snapshot)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(Arc::unwrap_or_clone(state))
    }
}

impl<S: SystemState> CachedState<S> {
    fn updated(self, snapshot: &Snapshot) -> Result<Arc<S>, Fault> {
        let Self { mut state, revisions } = self;
        if revisions != snapshot.revisions() {
            let has_changed = |field: &str| snapshot.has_changed(field, &revisions);
            // Copied only if an earlier node still works with it.
            Arc::make_mut(&mut state).reread(snapshot, has_changed)?;
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use antiphon_core::Time;
    use antiphon_core::effect::Effect;
    use antiphon_core::graph::{Graph, START};
    use antiphon_core::rules::NoRules;
    use antiphon_core::run::{Options, Run};
    use antiphon_core::task::TaskOutcome;
    use antiphon_runtime::Snapshot;
    use serde::{Deserialize, Deserializer, Serialize};
    use serde_json::{Value as Json, json};

    use super::StateCache;
    use crate::state::{declare, field_types, state};

    thread_local! { static READ: Cell<usize> = const { Cell::new(0) } }

    /// Counts how often it is read.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    struct Page(String);

    impl<'de> Deserialize<'de> for Page {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            READ.set(READ.get() + 1);
            String::deserialize(deserializer).map(Self)
        }
    }

    field_types! { Text: Page; }

    state! {
        /// A state with a page.
        struct State {
            /// The page.
            [Set] page: Page,
            /// How often it was visited.
            [Set] visits: u32 = 7,
        }
    }

    /// A run whose one node follows itself.
    fn run() -> Option<Run<Json>> {
        let mut graph = Graph::builder("visits");
        declare::<State>(&mut graph).ok()?;
        graph.node("a");
        graph.edge(START, "a").edge("a", "a");
        Some(Run::new(graph.build().ok()?, vec![], Options::default(), Time::default()))
    }

    /// The next node reads the state, and writes this.
    fn visit(
        run: &mut Run<Json>,
        known: &StateCache<State>,
        write: (&str, Json),
    ) -> Option<Arc<State>> {
        let Effect::Start(tasks) = run.step(Time::default(), &mut NoRules) else { return None };
        let snapshot = Snapshot::of(run.graph(0)?, run.state());
        let state = known.read(&snapshot).ok()?;
        let outcome = TaskOutcome::Done(snapshot.update([write]).ok()?);
        run.resolve(tasks.first()?.id, outcome, Time::default()).then_some(state)
    }

    #[test]
    fn a_node_reads_only_what_has_changed_since_the_last_one() {
        let (mut run, known) = (run().unwrap(), StateCache::default());
        let mut next = |field, value| {
            let state = visit(&mut run, &known, (field, value)).unwrap();
            (state.page.0.clone(), state.visits)
        };
        let (page, visits) = (State::page.name(), State::visits.name());
        assert_eq!(next(page, json!("tea")), (String::new(), 7));
        let before = READ.get();
        assert_eq!(next(visits, json!(8)), ("tea".to_owned(), 7));
        assert_eq!(next(visits, json!(9)), ("tea".to_owned(), 8));
        assert_eq!(next(page, json!("milk")), ("tea".to_owned(), 9));
        assert_eq!(READ.get() - before, 1, "the page was written once");
        assert_eq!(next(visits, json!(10)), ("milk".to_owned(), 9));
    }

    #[test]
    fn a_state_that_an_earlier_node_holds_stays_as_it_is() {
        let (mut run, known) = (run().unwrap(), StateCache::default());
        let earlier = visit(&mut run, &known, ("visits", json!(8))).unwrap();
        visit(&mut run, &known, ("visits", json!(9))).unwrap();
        visit(&mut run, &known, ("visits", json!(10))).unwrap();
        let last = known.take(&Snapshot::of(run.graph(0).unwrap(), run.state())).unwrap();
        assert_eq!((earlier.visits, last.visits), (7, 9));
    }
}
