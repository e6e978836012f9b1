//! Stands between a client and a server, and loses selected messages.

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
    /// How many are lost after it, one after the other.
    then: u32,
    lost: u32,
    /// The next question is kept back, and its client thrown out.
    delays: bool,
    /// Forwards what was kept back.
    delivers: bool,
    /// How often a question that was kept back came to its end.
    delivered: u32,
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

    /// So many answers in a row do not arrive.
    pub(crate) fn lose_next_answers(&self, count: u32) {
        self.state.send_modify(|state| (state.until_lost, state.then) = (Some(0), count - 1));
    }

    /// The next question stays on its way, while its client sees that the
    /// connection ended.
    pub(crate) fn delay_next_question(&self) {
        self.state.send_modify(|state| state.delays = true);
    }

    /// Lets the question arrive; returns once the server has answered or hung up.
    pub(crate) async fn deliver(&self) {
        self.state.send_modify(|state| state.delivers = true);
        self.state.subscribe().wait_for(|state| state.delivered > 0).await.unwrap();
    }

    pub(crate) fn lost(&self) -> u32 {
        self.state.borrow().lost
    }

    pub(crate) async fn wait_until_lost(&self, count: u32) {
        self.state.subscribe().wait_for(|state| state.lost >= count).await.unwrap();
    }

    /// Accepts no new connections; open ones stay.
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
                Ok(count @ 1..) if is_delayed(&state) => {
                    drop(client);
                    return deliver_late(server, &asked[..count], &state).await;
                }
                // The half of the server reports a connection that it ended.
                Ok(count @ 1..) => drop(server.write_all(&asked[..count]).await),
                _ => return,
            },
            count = server.read(&mut answered) => match count {
                Ok(count @ 1..) => {
                    // Each reply ends with the server being ready again.
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

fn is_delayed(state: &watch::Sender<State>) -> bool {
    let mut is_delayed = false;
    state.send_modify(|state| is_delayed = std::mem::take(&mut state.delays));
    is_delayed
}

async fn deliver_late(mut server: TcpStream, asked: &[u8], state: &watch::Sender<State>) {
    state.subscribe().wait_for(|state| state.delivers).await.unwrap();
    let _ = server.write_all(asked).await;
    let _ = server.shutdown().await;
    let _ = server.read_to_end(&mut Vec::new()).await;
    state.send_modify(|state| state.delivered += 1);
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
            is_lost = true;
            state.until_lost = state.then.checked_sub(1).map(|left| {
                state.then = left;
                0
            });
            state.lost += 1;
        }
        Some(others) => state.until_lost = Some(others - 1),
        None => {}
    });
    is_lost
}
