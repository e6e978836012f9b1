//! Stands between a client and a server, and loses what it is told to lose.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    place: String,
    state: Arc<watch::Sender<State>>,
}

#[derive(Clone, Default)]
struct State {
    /// Answers to let through before one is lost; none: all of them.
    until_lost: Option<u32>,
    lost: u32,
    /// Nobody gets in.
    shut: bool,
    /// Counts how often everybody was thrown out.
    cuts: u32,
}

impl Proxy {
    /// `place` is a host, a port and a database; so is the proxy's.
    pub(crate) async fn to(place: &str) -> Self {
        let (server, database) = place.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = format!("{}/{database}", listener.local_addr().unwrap());
        let state = Arc::new(watch::Sender::new(State::default()));
        let (server, shared) = (server.to_owned(), Arc::clone(&state));
        // Clients may block the test's own thread.
        std::thread::spawn(move || {
            let listener = listener.into_std().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(serve(listener, server, shared));
        });
        Self { place, state }
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The next answer does not arrive; the connection ends instead.
    pub(crate) fn lose_next_answer(&self) {
        self.lose_answer_after(0);
    }

    pub(crate) fn lose_answer_after(&self, others: u32) {
        self.state.send_modify(|state| state.until_lost = Some(others));
    }

    pub(crate) fn lost(&self) -> u32 {
        self.state.borrow().lost
    }

    pub(crate) async fn wait_until_lost(&self, count: u32) {
        self.state.subscribe().wait_for(|state| state.lost >= count).await.unwrap();
    }

    /// Lets nobody in any more; whoever is in stays.
    pub(crate) fn shut(&self) {
        self.state.send_modify(|state| state.shut = true);
    }

    pub(crate) fn open(&self) {
        self.state.send_modify(|state| state.shut = false);
    }

    /// Ends every connection.
    pub(crate) fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }
}

async fn serve(listener: std::net::TcpListener, server: String, state: Arc<watch::Sender<State>>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if !state.borrow().shut {
            tokio::spawn(carry(client, server.clone(), Arc::clone(&state)));
        }
    }
}

/// Carries questions and answers until one is lost.
async fn carry(mut client: TcpStream, server: String, state: Arc<watch::Sender<State>>) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let mut changes = state.subscribe();
    let cuts = changes.borrow_and_update().cuts;
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            count = client.read(&mut asked) => match count {
                Ok(count @ 1..) => server.write_all(&asked[..count]).await.unwrap(),
                _ => return,
            },
            count = server.read(&mut answered) => match count {
                Ok(count @ 1..) => {
                    // Whatever is said ends with the server being ready again.
                    let is_whole = answered[..count].ends_with(b"I")
                        || answered[..count].ends_with(b"T");
                    if is_whole && is_lost(&state) {
                        return;
                    }
                    if client.write_all(&answered[..count]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
            () = cut(&mut changes, cuts) => return,
        }
    }
}

async fn cut(changes: &mut watch::Receiver<State>, cuts: u32) {
    // If nobody can cut any more, the test is over.
    let _ = changes.wait_for(|state| state.cuts != cuts).await;
}

/// Whether this answer is the one to lose.
fn is_lost(state: &watch::Sender<State>) -> bool {
    let mut is_lost = false;
    state.send_modify(|state| match state.until_lost {
        Some(0) => {
            (state.until_lost, is_lost) = (None, true);
            state.lost += 1;
        }
        Some(others) => state.until_lost = Some(others - 1),
        None => {}
    });
    is_lost
}
