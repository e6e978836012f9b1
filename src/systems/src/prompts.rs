//! The prompts of a system: the files it ships, and the texts that a caller puts in their place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use antiphon_core::{Fault, FaultCode};

use crate::template::{fields, fill};

/// A prompt file.
#[derive(Clone, Copy, Debug)]
pub struct PromptSpec {
    /// The name under which it is read and replaced.
    pub name: &'static str,
    /// The text. Small models follow it: short sentences, the form of the reply last.
    pub text: &'static str,
    /// The text for large models, where they do better with other words.
    pub large: Option<&'static str>,
}

impl PromptSpec {
    /// The text for models of that tier.
    pub const fn text(&self, tier: ModelTier) -> &'static str {
        match (tier, self.large) {
            (ModelTier::Large, Some(large)) => large,
            _ => self.text,
        }
    }
}

/// How much a model can be expected to follow. Prompts may differ between the tiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelTier {
    /// Fewer than some 10 billion parameters.
    Small,
    /// All others, and those whose size is not known.
    #[default]
    Large,
}

impl ModelTier {
    /// Billions of parameters from which on a model is large.
    pub const LARGE: f64 = 10.0;

    /// The name in results and in [`Prompts`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    /// The tier of a model by its name, in which many say how many billions or millions of
    /// parameters they have.
    ///
    /// ```
    /// use antiphon_systems::prompts::ModelTier;
    /// assert_eq!(ModelTier::of("llamacpp:qwen2.5-1.5b"), ModelTier::Small);
    /// assert_eq!(ModelTier::of("local:smollm2-135m"), ModelTier::Small);
    /// assert_eq!(ModelTier::of("ollama:llama3.1:70b"), ModelTier::Large);
    /// assert_eq!(ModelTier::of("openai:gpt-5-mini"), ModelTier::Large);
    /// ```
    pub fn of(model: &str) -> Self {
        match billion_parameters(model) {
            Some(billions) if billions < Self::LARGE => Self::Small,
            _ => Self::Large,
        }
    }
}

/// The size of a model that its name tells.
pub(crate) fn billion_parameters(model: &str) -> Option<f64> {
    let name = model.to_ascii_lowercase();
    let is_part = |sign: char| !(sign.is_ascii_alphanumeric() || sign == '.');
    let size = |part: &str| {
        let millions = part.strip_suffix('m').and_then(|size| size.parse::<f64>().ok());
        let billions = part.strip_suffix('b').and_then(|size| size.parse().ok());
        billions.or_else(|| Some(millions? / 1_000.0))
    };
    name.split(is_part).find_map(size)
}

/// The prompts of one system, each as a file or as the text that replaces it.
#[derive(Clone, Debug)]
pub struct Prompts {
    specs: &'static [PromptSpec],
    replaced: BTreeMap<String, String>,
}

impl Prompts {
    /// The prompts, some of them replaced: by the name of a prompt, or by `NAME.small` or
    /// `NAME.large` for models of one tier.
    ///
    /// # Errors
    /// A `Validation` fault: `prompt_unknown` for a name that the system does not have,
    /// `prompt_invalid` for a text that is blank, or with a field that has no value.
    pub fn resolve(
        specs: &'static [PromptSpec],
        replaced: BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        for (key, text) in &replaced {
            let (name, _) = split(key);
            let spec = specs.iter().find(|spec| spec.name == name);
            check(spec.ok_or_else(|| unknown(specs, key))?, key, text)?;
        }
        Ok(Self { specs, replaced })
    }

    /// The text of a prompt for models of a tier, its fields not yet filled.
    ///
    /// # Errors
    /// An `Internal` fault `prompt_invalid` if there is no prompt of that name.
    pub fn text(&self, name: &str, tier: ModelTier) -> Result<Cow<'_, str>, Fault> {
        if let Some(own) = self.replacement(name, tier) {
            return Ok(Cow::Borrowed(own));
        }
        let spec = self.specs.iter().find(|spec| spec.name == name);
        spec.map(|spec| Cow::Borrowed(spec.text(tier))).ok_or_else(|| {
            let message = format!("unknown prompt of the system: {name}");
            Fault::new(FaultCode::PromptInvalid, message)
        })
    }

    /// The text of a prompt with its fields filled. A text that replaces a file need not use
    /// every value.
    ///
    /// # Errors
    /// An `Internal` fault `prompt_invalid` if fields and values do not agree.
    pub fn fill(
        &self,
        name: &str,
        tier: ModelTier,
        values: &[(&str, &str)],
    ) -> Result<String, Fault> {
        let text = self.text(name, tier)?;
        if self.replacement(name, tier).is_none() {
            return Ok(fill(&text, values)?.trim_end().to_owned());
        }
        let used = fields(&text)?;
        let values: Vec<_> = values.iter().filter(|(key, _)| used.contains(key)).copied().collect();
        Ok(fill(&text, &values)?.trim_end().to_owned())
    }

    /// Whether the caller has put a text in the place of a prompt, for models of any tier.
    pub fn is_replaced(&self, name: &str) -> bool {
        self.replaced.keys().any(|key| split(key).0 == name)
    }

    /// All prompts, by name and tier, as they are read.
    pub fn all(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for spec in self.specs {
            for tier in [ModelTier::Small, ModelTier::Large] {
                if let Ok(text) = self.text(spec.name, tier) {
                    all.push((format!("{}.{}", spec.name, tier.as_str()), text.into_owned()));
                }
            }
        }
        all
    }

    fn replacement(&self, name: &str, tier: ModelTier) -> Option<&str> {
        let of_tier = self.replaced.get(&format!("{name}.{}", tier.as_str()));
        of_tier.or_else(|| self.replaced.get(name)).map(String::as_str)
    }
}

/// A key as the name of a prompt and a tier.
fn split(key: &str) -> (&str, Option<&str>) {
    match key.rsplit_once('.') {
        Some((name, tier @ ("small" | "large"))) => (name, Some(tier)),
        _ => (key, None),
    }
}

fn check(spec: &PromptSpec, key: &str, text: &str) -> Result<(), Fault> {
    let refused = |message: String| Fault::new(FaultCode::PromptInvalid, message);
    if text.trim().is_empty() {
        return Err(refused(format!("the prompt `{key}` is blank")));
    }
    let mut known: BTreeSet<&str> = fields(spec.text)?;
    known.extend(fields(spec.large.unwrap_or_default())?);
    let used = fields(text).map_err(|fault| refused(format!("`{key}`: {}", fault.message)))?;
    let Some(field) = used.difference(&known).next() else { return Ok(()) };
    let fault = refused(format!("unknown field of the prompt `{key}`: {field}"));
    let known: Vec<_> = known.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    Err(match &*known.join(", ") {
        "" => fault.hint("it has no fields"),
        known => fault.hint(format!("its fields are {known}")),
    })
}

fn unknown(specs: &[PromptSpec], key: &str) -> Fault {
    let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
    let message = format!("unknown prompt of the system: {key}");
    Fault::new(FaultCode::PromptUnknown, message)
        .hint(format!("its prompts are {}", known.join(", ")))
}
