//! Families of models that differ from what their provider accepts otherwise: one row each.

use crate::capabilities::{CapabilityOverrides, MaxTokensField, StructuredOutput};

/// Models whose names begin alike, and what is different about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFamily {
    /// The providers under whose names the models are known.
    pub providers: &'static [&'static str],
    /// How the names of the models begin.
    pub prefixes: &'static [&'static str],
    /// What differs.
    pub differs: CapabilityOverrides,
}

impl ModelFamily {
    /// What differs for `model` of `provider`: the first row that matches counts.
    pub fn overrides(provider: &str, model: &str) -> CapabilityOverrides {
        let model = model.to_ascii_lowercase();
        let matches = |row: &&Self| {
            row.providers.contains(&provider)
                && row.prefixes.iter().any(|prefix| model.starts_with(prefix))
        };
        FAMILIES.iter().find(matches).map_or(CapabilityOverrides::NONE, |row| row.differs)
    }
}

const OPENAI: &[&str] = &["openai", "azure"];
const ANTHROPIC: &[&str] = &["anthropic"];

/// A model that only takes the newer name of the token limit.
const COMPLETION_TOKENS: CapabilityOverrides = CapabilityOverrides {
    max_tokens_field: Some(MaxTokensField::MaxCompletionTokens),
    ..CapabilityOverrides::NONE
};

/// A model that reasons by default, and does not accept a temperature.
const REASONING: CapabilityOverrides =
    CapabilityOverrides { temperature: Some(false), ..COMPLETION_TOKENS };

/// A model of Anthropic: version 2026-10-21 of its API has no sampling parameters.
const CLAUDE: CapabilityOverrides = CapabilityOverrides {
    structured_output: Some(StructuredOutput::Strict),
    temperature: Some(false),
    ..CapabilityOverrides::NONE
};

/// One from before Anthropic's structured outputs.
const EARLY_CLAUDE: CapabilityOverrides =
    CapabilityOverrides { structured_output: Some(StructuredOutput::Tool), ..CLAUDE };

/// All families; a longer prefix stands before a shorter one that it begins with.
pub const FAMILIES: &[ModelFamily] = &[
    ModelFamily {
        providers: OPENAI,
        prefixes: &["gpt-4o-search", "gpt-4o-mini-search", "gpt-5-search"],
        differs: CapabilityOverrides { tools: Some(false), ..REASONING },
    },
    ModelFamily { providers: OPENAI, prefixes: &["gpt-5-chat"], differs: COMPLETION_TOKENS },
    ModelFamily {
        providers: OPENAI,
        prefixes: &[
            "gpt-5.1-chat",
            "gpt-5.1-codex",
            "gpt-5.2-chat",
            "gpt-5.2-pro",
            "gpt-5.3-chat",
            "gpt-5.4-pro",
        ],
        differs: REASONING,
    },
    // They reason only on request.
    ModelFamily {
        providers: OPENAI,
        prefixes: &["gpt-5.1", "gpt-5.2", "gpt-5.3", "gpt-5.4"],
        differs: COMPLETION_TOKENS,
    },
    ModelFamily {
        providers: OPENAI,
        prefixes: &["gpt-5", "gpt-6", "o1", "o3", "o4"],
        differs: REASONING,
    },
    ModelFamily {
        providers: OPENAI,
        prefixes: &["gpt-4o", "gpt-4.1", "gpt-4.5"],
        differs: CapabilityOverrides::NONE,
    },
    ModelFamily {
        providers: OPENAI,
        prefixes: &["gpt-4-turbo", "gpt-4-0125", "gpt-4-1106", "gpt-3.5-turbo"],
        differs: CapabilityOverrides {
            structured_output: Some(StructuredOutput::Json),
            ..CapabilityOverrides::NONE
        },
    },
    ModelFamily {
        providers: OPENAI,
        prefixes: &["gpt-4"],
        differs: CapabilityOverrides {
            structured_output: Some(StructuredOutput::Prompt),
            ..CapabilityOverrides::NONE
        },
    },
    ModelFamily {
        providers: ANTHROPIC,
        prefixes: &["claude-2", "claude-3"],
        differs: CapabilityOverrides { default_max_tokens: Some(4096), ..EARLY_CLAUDE },
    },
    ModelFamily {
        providers: ANTHROPIC,
        prefixes: &[
            "claude-opus-4-0",
            "claude-opus-4-2025",
            "claude-sonnet-4-0",
            "claude-sonnet-4-2025",
        ],
        differs: EARLY_CLAUDE,
    },
    ModelFamily { providers: ANTHROPIC, prefixes: &["claude"], differs: CLAUDE },
];
