//! The protocol over a pair of streams: standard input and output, or a socket.

use std::sync::Arc;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::handler::Handler;
use super::verbatim::Verbatim;

impl Session {
    /// Speaks with one client until it hangs up, or the hub closes.
    pub async fn serve(
        self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        closing: CancellationToken,
    ) -> Result<(), String> {
        let transport = Verbatim(AsyncRwTransport::new_server(reader, writer));
        let handler = Handler(Arc::new(self));
        // What is handed over is cancelled at the end of the conversation.
        match serve_server_with_ct(handler, transport, closing.child_token()).await {
            Ok(running) => running
                .waiting()
                .await
                .map(|_| ())
                .map_err(|e| e.to_string()),
            // A client that hangs up before it says anything has asked nothing.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}
