//! Reports progress in the order in which it arrives, and which replies are sent.

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::handler::PeerHandler;

/// A transport that tells calls about their progress. The library hands each notification to a
/// task of its own, which the result of the call may overtake.
pub(super) struct ProgressTransport<T> {
    inner: T,
    handler: PeerHandler,
    /// A message that was received when the wait for it was dropped.
    held: Option<RxJsonRpcMessage<RoleClient>>,
}

impl<T> ProgressTransport<T> {
    pub(super) const fn new(inner: T, handler: PeerHandler) -> Self {
        Self { inner, handler, held: None }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ProgressTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Response(reply) = &item {
            self.handler.replies.remove(&reply.id);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.held.is_none() {
            self.held = Some(self.inner.receive().await?);
        }
        if let Some(JsonRpcMessage::Notification(message)) = &self.held
            && let ServerNotification::ProgressNotification(progress) = &message.notification
        {
            self.handler.report(&progress.params).await;
        }
        self.held.take()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
