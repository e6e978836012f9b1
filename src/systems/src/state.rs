//! The state of a system. [`state!`](crate::state) takes each field once, with its type, reducer
//! and default, and makes three things of the list: the struct that nodes read, the channels of
//! the graph, and the keys of a typed [`Patch`](crate::Patch).

use std::collections::BTreeMap;
use std::marker::PhantomData;

use antiphon_core::channel::{Channel, ChannelId, Reducer, ValueKind};
use antiphon_core::graph::GraphBuilder;
use antiphon_core::{Category, Fault, FaultCode};
use antiphon_runtime::Snapshot;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// What a run of a system was started with.
pub(crate) const INPUT: &str = "input";
/// The results of its tools, see [`crate::ToolCache`].
pub(crate) const TOOL_RESULTS: &str = "tool_results";
/// The attachments of a run that a thread keeps, see [`crate::stored_attachments`].
pub(crate) const ATTACHMENTS: &str = "attachments";
/// The field in which failures of nodes are recorded.
pub(crate) const ERROR: &str = "error";

/// A struct that [`state!`](crate::state) has made.
pub trait SystemState:
    Clone + Default + Serialize + DeserializeOwned + Send + Sync + std::fmt::Debug + 'static
{
    /// A channel for each field, in their order.
    ///
    /// # Errors
    /// As [`Field::channel`].
    fn channels() -> Result<Vec<Channel<Json>>, Fault>;

    /// Reads the fields of which `has_changed` says, by their names, that they are not what they were.
    ///
    /// # Errors
    /// That of a field that does not fit; the state then is of no use.
    fn reread(
        &mut self,
        state: &Snapshot,
        has_changed: impl Fn(&str) -> bool,
    ) -> Result<(), Fault> {
        let _ = has_changed;
        *self = state.read()?;
        Ok(())
    }
}

type Types<S, M, T> = PhantomData<fn() -> (S, M, T)>;

/// The key of a field of the state `S`: a `T` whose writes are merged by `M`.
pub struct Field<S, M, T> {
    name: &'static str,
    types: Types<S, M, T>,
}

impl<S, M, T> Field<S, M, T> {
    /// Only [`state!`](crate::state) makes keys, so that each has a channel.
    pub const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// The name of the field and of its channel.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<S, M, T> Clone for Field<S, M, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, M, T> Copy for Field<S, M, T> {}

impl<S, M: Merge<T>, T: FieldType + Serialize> Field<S, M, T> {
    /// The channel. A field that is written once, or may be absent, has no default.
    ///
    /// # Errors
    /// An `Internal` fault `host_incomplete` for a default that JSON cannot hold.
    pub fn channel(self, default: &T) -> Result<Channel<Json>, Fault> {
        let default = serde_json::to_value(default).map_err(|error| {
            let message =
                format!("the default of a field cannot be stored: {}: {error}", self.name);
            Fault::new(FaultCode::HostIncomplete, message)
        })?;
        let default = Some(default).filter(|it| !it.is_null() && M::REDUCER != Reducer::Once);
        Ok(Channel { name: self.name.into(), merge: M::REDUCER, default, kind: T::KIND })
    }
}

/// How writes of a field of the type `T` are merged.
pub trait Merge<T> {
    /// What a node writes.
    type Write: Serialize;
    /// The reducer of the channel.
    const REDUCER: Reducer;
}

/// Defines reducers whose writes have the type of the field.
macro_rules! merges {
    ($($(#[$doc:meta])* $name:ident = $reducer:expr;)*) => {
        $($(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl<T: Serialize> Merge<T> for $name {
            type Write = T;
            const REDUCER: Reducer = $reducer;
        })*
    };
}

merges! {
    /// The new value replaces the old one; two writers in one superstep must agree.
    Set = Reducer::Set;
    /// As [`Set`]; of two writers in one superstep, the later one in order wins.
    Last = Reducer::Last;
    /// As [`Set`], but a second write is an error.
    Once = Reducer::Once;
    /// Appends the items of a list.
    Extend = Reducer::Extend;
    /// Merges the entries of a map.
    Record = Reducer::Record;
    /// Of the failures of one superstep, keeps one that no retry mends.
    Worst = Reducer::Foreign(WORST);
}

/// The number of the rule [`Worst`] among the rules of a system.
pub(crate) const WORST: u32 = 0;

/// Writes one item of a sparse list, by its index.
#[derive(Debug)]
pub enum Put {}

impl<T: Serialize> Merge<Vec<Option<T>>> for Put {
    type Write = (usize, T);
    const REDUCER: Reducer = Reducer::Put;
}

/// A type that a field can have.
pub trait FieldType {
    /// What the channel takes.
    const KIND: ValueKind;
}

/// Says what kind of value a type is in a state.
macro_rules! field_types {
    ($($kind:ident: $($type:ty),+;)*) => {
        $($(impl $crate::state::FieldType for $type {
            const KIND: ::antiphon_core::channel::ValueKind =
                ::antiphon_core::channel::ValueKind::$kind;
        })+)*
    };
}
pub(crate) use field_types;

field_types! {
    Text: String;
    Integer: i64, u32, usize;
    Boolean: bool;
    Any: Fault, Json;
}

impl<T> FieldType for Vec<T> {
    const KIND: ValueKind = ValueKind::List;
}

impl<K, T> FieldType for BTreeMap<K, T> {
    const KIND: ValueKind = ValueKind::Record;
}

impl<T: FieldType> FieldType for Option<T> {
    const KIND: ValueKind = T::KIND;
}

/// Adds the channels of a state to a graph, and those that every system has. Returns the one in
/// which failures are recorded, if the state has a field `error`.
pub(crate) fn declare<S: SystemState>(
    graph: &mut GraphBuilder<Json>,
) -> Result<Option<ChannelId>, Fault> {
    let own = |name: &str, merge| {
        let kind = ValueKind::Record;
        Channel { name: name.into(), merge, default: None, kind }
    };
    graph.add_channel(own(INPUT, Reducer::Once));
    let mut error = None;
    for channel in S::channels()? {
        let is_error = &*channel.name == ERROR;
        let id = graph.add_channel(channel);
        error = error.or_else(|| is_error.then_some(id));
    }
    graph.add_channel(own(TOOL_RESULTS, Reducer::Record));
    graph.add_channel(own(ATTACHMENTS, Reducer::Record));
    Ok(error)
}

/// The value of a field.
pub(crate) fn read_field<T: DeserializeOwned>(value: &Json) -> Result<T, Fault> {
    T::deserialize(value).map_err(|error| {
        let message = format!("the state does not match the type that the node reads: {error}");
        Fault::new(FaultCode::StateUnreadable, message)
    })
}

/// Whether the same role may well succeed when it tries again.
pub(crate) const fn is_passing(category: Category) -> bool {
    category.is_transient() || matches!(category, Category::ModelOutput | Category::Tool)
}

/// Writes a state once: a struct whose fields name their reducer in brackets, their type, and a
/// default if it is not that of the type.
///
/// ```text
/// state! {
///     /// What is known of a question.
///     pub struct State {
///         /// What is asked.
///         [Once] question: String,
///         /// What was found.
///         [Extend] findings: Vec<String>,
///         /// How many attempts are left.
///         [Set] attempts: u32 = 3,
///     }
/// }
/// ```
///
/// `State::question` then is the key of that field in a [`Patch`](crate::Patch).
macro_rules! state {
    ($(#[$doc:meta])* $vis:vis struct $state:ident {
        $($(#[$field_doc:meta])* [$merge:ident] $field:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default)]
        $vis struct $state {
            $($(#[$field_doc])* $vis $field: $type,)*
        }

        #[expect(non_upper_case_globals, reason = "a key is called like its field")]
        impl $state {
            $(pub(crate) const $field: $crate::state::Field<Self, $crate::state::$merge, $type> =
                $crate::state::Field::new(stringify!($field));)*
        }

        impl Default for $state {
            fn default() -> Self {
                Self { $($field: $crate::state::default_of!($($default)?),)* }
            }
        }

        impl $crate::state::SystemState for $state {
            fn channels() -> ::std::result::Result<
                Vec<::antiphon_core::channel::Channel<::serde_json::Value>>,
                ::antiphon_core::Fault,
            > {
                let defaults = Self::default();
                Ok(vec![$(Self::$field.channel(&defaults.$field)?,)*])
            }

            fn reread(
                &mut self,
                state: &::antiphon_runtime::Snapshot,
                has_changed: impl Fn(&str) -> bool,
            ) -> ::std::result::Result<(), ::antiphon_core::Fault> {
                $(if has_changed(stringify!($field)) {
                    self.$field = match state.get(stringify!($field)) {
                        Some(value) => $crate::state::read_field(value)?,
                        None => $crate::state::default_of!($($default)?),
                    };
                })*
                Ok(())
            }
        }
    };
}
pub(crate) use state;

/// The default of a field: the one that was given, else that of its type.
macro_rules! default_of {
    () => {
        Default::default()
    };
    ($default:expr) => {
        $default
    };
}
pub(crate) use default_of;
