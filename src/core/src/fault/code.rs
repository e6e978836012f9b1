//! The stable codes of failures.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Category;

/// Declares the codes once: the variant, the text on the wire and the category.
macro_rules! codes {
    ($($variant:ident = $text:literal => $category:ident,)*) => {
        /// Which failure it is: a stable name with a page in `docs/errors/`. What decides
        /// compares variants; the text is for the wire and for readers.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum FaultCode {
            $(
                #[doc = concat!("`", $text, "`, of [`Category::", stringify!($category), "`].")]
                $variant,
            )*
            /// A code that the engine does not know: that of a host's own error class, or
            /// of a later version.
            Foreign(Box<str>),
        }

        impl FaultCode {
            /// The codes that the engine and its adapters use, in the order of their texts.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The text on the wire, for instance `model_unreachable`.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Foreign(text) => text,
                }
            }

            /// The code with this text; `None` if the engine does not use it.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The category of its failures, which returns whether they are retried; `None` for a
            /// foreign code, whose category the host chooses.
            pub const fn category(&self) -> Option<Category> {
                match self {
                    $(Self::$variant => Some(Category::$category),)*
                    Self::Foreign(_) => None,
                }
            }
        }
    };
}

codes! {
    AddressRefused = "address_refused" => Policy,
    AnswerInvalid = "answer_invalid" => Validation,
    ApiCallInvalid = "api_call_invalid" => Validation,
    ApiCallRejected = "api_call_rejected" => Tool,
    ApiCatalogueInvalid = "api_catalogue_invalid" => Validation,
    ApiEndpointUnknown = "api_endpoint_unknown" => Validation,
    ApiServerFailed = "api_server_failed" => ToolTransport,
    ApiTimeout = "api_timeout" => Timeout,
    ApiTokenFailed = "api_token_failed" => Auth,
    ApiUnauthorized = "api_unauthorized" => Auth,
    ApprovalFailed = "approval_failed" => Tool,
    ApprovalInvalid = "approval_invalid" => Validation,
    AttachmentNotText = "attachment_not_text" => Validation,
    AttachmentTooLarge = "attachment_too_large" => Validation,
    BrowserMissing = "browser_missing" => Validation,
    BudgetExhausted = "budget_exhausted" => Budget,
    CalculationFailed = "calculation_failed" => Tool,
    CallInvalid = "call_invalid" => Validation,
    CheckpointCorrupt = "checkpoint_corrupt" => State,
    CheckpointEncrypted = "checkpoint_encrypted" => State,
    CheckpointMisfit = "checkpoint_misfit" => State,
    CheckpointPlain = "checkpoint_plain" => State,
    CheckpointUnknown = "checkpoint_unknown" => State,
    DatabaseLoginFailed = "database_login_failed" => Auth,
    DatabaseUnreachable = "database_unreachable" => ToolTransport,
    DocumentIndexUnavailable = "document_index_unavailable" => Tool,
    DocumentUnknown = "document_unknown" => Tool,
    DownloadBusy = "download_busy" => Tool,
    DownloadFailed = "download_failed" => Tool,
    DownloadHashMismatch = "download_hash_mismatch" => Tool,
    DownloadTimeout = "download_timeout" => Timeout,
    DownloadTypeRefused = "download_type_refused" => Policy,
    FileExists = "file_exists" => Tool,
    FileMissing = "file_missing" => Tool,
    FileNotText = "file_not_text" => Tool,
    FileTooLarge = "file_too_large" => Tool,
    FileUnusable = "file_unusable" => Tool,
    GraphInvalid = "graph_invalid" => Validation,
    HostIncomplete = "host_incomplete" => Internal,
    InputInvalid = "input_invalid" => Validation,
    InvalidValue = "invalid_value" => Validation,
    LabelUnknown = "label_unknown" => State,
    McpClientSilent = "mcp_client_silent" => Tool,
    McpConnectionLost = "mcp_connection_lost" => ToolTransport,
    McpHandshakeFailed = "mcp_handshake_failed" => ToolTransport,
    McpReplyInvalid = "mcp_reply_invalid" => Tool,
    McpServerBusy = "mcp_server_busy" => Tool,
    McpServerFailed = "mcp_server_failed" => State,
    McpToolUnknown = "mcp_tool_unknown" => Validation,
    McpUnauthorized = "mcp_unauthorized" => Auth,
    McpUnreachable = "mcp_unreachable" => ToolTransport,
    ModelBaseUrlInvalid = "model_base_url_invalid" => Validation,
    ModelBaseUrlMissing = "model_base_url_missing" => Validation,
    ModelCallsExhausted = "model_calls_exhausted" => Budget,
    ModelKeyMissing = "model_key_missing" => Auth,
    ModelKeyRefused = "model_key_refused" => Auth,
    ModelNameMalformed = "model_name_malformed" => Validation,
    ModelNotFound = "model_not_found" => Validation,
    ModelOutputInvalid = "model_output_invalid" => ModelOutput,
    ModelParameterUnsupported = "model_parameter_unsupported" => Validation,
    ModelProviderUnknown = "model_provider_unknown" => Validation,
    ModelQuotaExhausted = "model_quota_exhausted" => Budget,
    ModelRateLimited = "model_rate_limited" => ModelTransport,
    ModelRedirected = "model_redirected" => Validation,
    ModelRefused = "model_refused" => ModelOutput,
    ModelReplyCut = "model_reply_cut" => ModelTransport,
    ModelReplyEmpty = "model_reply_empty" => ModelOutput,
    ModelReplyMalformed = "model_reply_malformed" => ModelTransport,
    ModelReplyTooLarge = "model_reply_too_large" => ModelOutput,
    ModelRequestRefused = "model_request_refused" => Validation,
    ModelServerError = "model_server_error" => ModelTransport,
    ModelSettingInvalid = "model_setting_invalid" => Validation,
    ModelTimeout = "model_timeout" => Timeout,
    ModelUnreachable = "model_unreachable" => ModelTransport,
    NestingTooDeep = "nesting_too_deep" => Internal,
    NodeCancelled = "node_cancelled" => Internal,
    NodeEnded = "node_ended" => State,
    NodeFailed = "node_failed" => Internal,
    NodePanicked = "node_panicked" => Internal,
    NodeReturnInvalid = "node_return_invalid" => State,
    NodeTimeout = "node_timeout" => Timeout,
    OutcomeMisplaced = "outcome_misplaced" => Internal,
    PageEmpty = "page_empty" => Tool,
    PageLoginRequired = "page_login_required" => Auth,
    PageRefused = "page_refused" => Tool,
    PageRenderFailed = "page_render_failed" => Tool,
    PageTimeout = "page_timeout" => Timeout,
    PageTypeUnsupported = "page_type_unsupported" => Tool,
    PageUnavailable = "page_unavailable" => ToolTransport,
    PageUnreadable = "page_unreadable" => Tool,
    ParentMissing = "parent_missing" => State,
    PathRefused = "path_refused" => Policy,
    PdfUnwritable = "pdf_unwritable" => Tool,
    ProcessForked = "process_forked" => Internal,
    PromptInvalid = "prompt_invalid" => Validation,
    PromptUnknown = "prompt_unknown" => Validation,
    QueryFailed = "query_failed" => Tool,
    QueryParametersInvalid = "query_parameters_invalid" => Validation,
    QueryRefused = "query_refused" => Policy,
    QueryTableForbidden = "query_table_forbidden" => Policy,
    QueryTimeout = "query_timeout" => Timeout,
    QuestionAsked = "question_asked" => State,
    QuestionBlank = "question_blank" => Validation,
    QuestionMalformed = "question_malformed" => Validation,
    QuestionMisplaced = "question_misplaced" => State,
    QuestionUnknown = "question_unknown" => Validation,
    QueueClosed = "queue_closed" => State,
    QueueFull = "queue_full" => Timeout,
    QueueLeaseLost = "queue_lease_lost" => State,
    QueueLoginFailed = "queue_login_failed" => Auth,
    QueueMessageInvalid = "queue_message_invalid" => Validation,
    QueueSettingInvalid = "queue_setting_invalid" => Validation,
    QueueUnreachable = "queue_unreachable" => ToolTransport,
    RecordingInvalid = "recording_invalid" => Validation,
    RecordingMismatch = "recording_mismatch" => Validation,
    RedirectRefused = "redirect_refused" => Policy,
    ReplayDiverged = "replay_diverged" => State,
    ReplyTooLarge = "reply_too_large" => Tool,
    ReviewStateCorrupt = "review_state_corrupt" => State,
    RoleFailed = "role_failed" => Internal,
    RoleInvalid = "role_invalid" => Validation,
    RoleMissing = "role_missing" => Validation,
    RoleReplyInvalid = "role_reply_invalid" => ModelOutput,
    RoleToolsInvalid = "role_tools_invalid" => Validation,
    RoleUnknown = "role_unknown" => Validation,
    RuleMissing = "rule_missing" => Internal,
    RulePanicked = "rule_panicked" => Internal,
    RunAbandoned = "run_abandoned" => Internal,
    RunCancelled = "run_cancelled" => Cancelled,
    RunStalled = "run_stalled" => Internal,
    SandboxCrashed = "sandbox_crashed" => Tool,
    SandboxInputInvalid = "sandbox_input_invalid" => Validation,
    SandboxLimitInvalid = "sandbox_limit_invalid" => Validation,
    SandboxMissing = "sandbox_missing" => Validation,
    SandboxSettingInvalid = "sandbox_setting_invalid" => Validation,
    SandboxUnavailable = "sandbox_unavailable" => Tool,
    SchemaInvalid = "schema_invalid" => Validation,
    ScriptExhausted = "script_exhausted" => Validation,
    ScriptInvalid = "script_invalid" => Validation,
    SearchFailed = "search_failed" => ToolTransport,
    SearchKeyRefused = "search_key_refused" => Auth,
    SearchRefused = "search_refused" => Tool,
    SendToEnd = "send_to_end" => State,
    ServerUnreachable = "server_unreachable" => ToolTransport,
    StateKeyUnknown = "state_key_unknown" => State,
    StateUnreadable = "state_unreadable" => State,
    StepTimeout = "step_timeout" => Timeout,
    StoreCertificateInvalid = "store_certificate_invalid" => Auth,
    StoreClosed = "store_closed" => Validation,
    StoreCorrupt = "store_corrupt" => State,
    StoreFailed = "store_failed" => State,
    StoreFull = "store_full" => State,
    StoreLocked = "store_locked" => State,
    StoreReadOnly = "store_read_only" => State,
    StoreRefused = "store_refused" => Auth,
    StoreSettingInvalid = "store_setting_invalid" => Validation,
    StoreTimeout = "store_timeout" => State,
    StoreUnavailable = "store_unavailable" => State,
    StoreVersion = "store_version" => State,
    SubTaskNoWorker = "sub_task_no_worker" => Tool,
    SubTaskProfileUnknown = "sub_task_profile_unknown" => Auth,
    SubTaskTimeout = "sub_task_timeout" => Timeout,
    SubTaskToolUnknown = "sub_task_tool_unknown" => Tool,
    SubTaskUnreadable = "sub_task_unreadable" => Validation,
    SystemSettingInvalid = "system_setting_invalid" => Validation,
    SystemUnknown = "system_unknown" => Validation,
    TargetUnknown = "target_unknown" => State,
    TaskCancelled = "task_cancelled" => Cancelled,
    ThreadBusy = "thread_busy" => State,
    ThreadConflict = "thread_conflict" => State,
    ThreadEmpty = "thread_empty" => Validation,
    ThreadInvalid = "thread_invalid" => Validation,
    ThreadPaused = "thread_paused" => State,
    ThreadTaken = "thread_taken" => Validation,
    ToolCallsExhausted = "tool_calls_exhausted" => ModelOutput,
    ToolCircuitOpen = "tool_circuit_open" => Tool,
    ToolFailed = "tool_failed" => Tool,
    ToolFamilyUnknown = "tool_family_unknown" => Validation,
    ToolPanicked = "tool_panicked" => Internal,
    ToolRefused = "tool_refused" => Tool,
    ToolSettingInvalid = "tool_setting_invalid" => Validation,
    ToolTimeout = "tool_timeout" => Timeout,
    UnknownOutcome = "unknown_outcome" => Tool,
    UrlInvalid = "url_invalid" => Validation,
    ValueUnstorable = "value_unstorable" => State,
    WriteConflict = "write_conflict" => State,
    WriteMistyped = "write_mistyped" => State,
    WriteUnmergeable = "write_unmergeable" => State,
}

impl FaultCode {
    /// Whether a checkpoint is at fault, and not the store that it lies in: an administrator's
    /// sweep notes the thread and continues.
    pub const fn is_of_checkpoint(&self) -> bool {
        matches!(
            self,
            Self::CheckpointCorrupt
                | Self::CheckpointEncrypted
                | Self::CheckpointMisfit
                | Self::CheckpointPlain
                | Self::CheckpointUnknown
        )
    }

    /// Whether the store is at fault, for any requested thread.
    pub const fn is_of_store(&self) -> bool {
        matches!(
            self,
            Self::StoreCertificateInvalid
                | Self::StoreClosed
                | Self::StoreCorrupt
                | Self::StoreFailed
                | Self::StoreFull
                | Self::StoreLocked
                | Self::StoreReadOnly
                | Self::StoreRefused
                | Self::StoreSettingInvalid
                | Self::StoreTimeout
                | Self::StoreUnavailable
                | Self::StoreVersion
        )
    }
}

impl From<&str> for FaultCode {
    fn from(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| Self::Foreign(text.into()))
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// For assertions; what decides compares variants.
impl PartialEq<&str> for FaultCode {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

impl Serialize for FaultCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FaultCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Ok(Self::from(&*text))
    }
}
