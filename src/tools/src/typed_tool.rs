//! A tool made of a type for its arguments and one async function.

use std::time::Duration;

use antiphon_core::breaker::BreakerPolicy;
use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

/// What a tool does. The schema that models read is derived from `Arguments`: the doc comments of
/// its fields describe the parameters.
#[async_trait]
pub trait ToolFunction: Send + Sync + 'static {
    /// The arguments, an object.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Calls it.
    ///
    /// # Errors
    /// A fault that the model reads.
    async fn call(&self, arguments: Self::Arguments, cx: &CallContext) -> ToolOutcome;
}

/// A [`ToolFunction`] behind the port of tools.
///
/// ```
/// use antiphon_core::{SideEffect, ToolOutcome};
/// use antiphon_runtime::CallContext;
/// use antiphon_tools::{ToolFunction, TypedTool};
///
/// /// The arguments of `area`.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sides {
///     /// In metres.
///     width: f64,
///     /// In metres.
///     height: f64,
/// }
///
/// struct Area;
///
/// #[async_trait::async_trait]
/// impl ToolFunction for Area {
///     type Arguments = Sides;
///
///     async fn call(&self, sides: Sides, _cx: &CallContext) -> ToolOutcome {
///         Ok((sides.width * sides.height).into())
///     }
/// }
///
/// let tool = TypedTool::new("area", "Area of a rectangle.", SideEffect::None, Area);
/// ```
#[derive(Debug)]
pub struct TypedTool<F> {
    spec: ToolSpec,
    function: F,
}

impl<F: ToolFunction> TypedTool<F> {
    /// A tool of that name. `description` is for the model.
    pub fn new(name: &str, description: &str, side_effect: SideEffect, function: F) -> Self {
        let spec = ToolSpec::new(name, description, schema::<F::Arguments>());
        Self { spec: ToolSpec { side_effect, ..spec }, function }
    }

    /// Declares what its results look like.
    #[must_use]
    pub fn results<R: JsonSchema>(mut self) -> Self {
        self.spec.results = Some(schema::<R>());
        self
    }

    /// Sets the longest that one call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec.timeout = Some(timeout);
        self
    }

    /// Sets the most characters of a result that the model sees.
    #[must_use]
    pub fn max_result(mut self, characters: usize) -> Self {
        self.spec.max_result = characters;
        self
    }

    /// Sets how many calls may be under way at once, of all agents and runs together.
    #[must_use]
    pub const fn max_concurrency(mut self, calls: u32) -> Self {
        self.spec.max_concurrency = Some(calls);
        self
    }

    /// Sets when the tool is left alone because it keeps failing; for one that talks to one service.
    #[must_use]
    pub const fn breaker(mut self, policy: BreakerPolicy) -> Self {
        self.spec.breaker = Some(policy);
        self
    }

    /// Declares that a repeated call is harmless.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.spec.idempotent = true;
        self
    }
}

/// The schema of a type, without facts about it that say nothing to a model.
fn schema<T: JsonSchema>() -> Json {
    let mut schema = json!(schema_for!(T));
    if let Some(fields) = schema.as_object_mut() {
        for fact in ["$schema", "title", "description"] {
            fields.remove(fact);
        }
    }
    schema
}

#[async_trait]
impl<F: ToolFunction> Tool for TypedTool<F> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        // The engine has validated them against the schema; a caller outside of a run may not.
        let arguments = serde_json::from_value(arguments).map_err(|error| {
            let message = format!("the arguments of `{}` do not fit: {error}", self.spec.name);
            Fault::new(FaultCode::InvalidValue, message)
        })?;
        self.function.call(arguments, cx).await
    }
}
