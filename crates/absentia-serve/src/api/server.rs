//! The connection loop with its limits, and the graceful stop.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::dispatch::dispatch;
use super::stream::TimedStream;
use crate::core::Core;

/// A socket that listens, and whether requests without a key are accepted on it.
#[derive(Debug)]
pub struct Listening {
    /// The socket.
    pub socket: TcpListener,
    /// Whether it can be reached from this machine alone.
    pub is_loopback: bool,
}

/// Accepts connections until `stop` is set, and then waits for requests that run, up to a deadline.
pub async fn listen(core: Arc<Core>, listening: Listening, mut stop: watch::Receiver<bool>) {
    let limits = core.settings.limits;
    let connections = Arc::new(Semaphore::new(limits.connections));
    let Listening {
        socket,
        is_loopback,
    } = listening;
    // Connections end after the socket is closed: whoever sees one end cannot connect any more.
    let (closed, closing) = watch::channel(false);
    loop {
        let accepted = {
            let (mut accepting, mut stopping) = (pin!(socket.accept()), pin!(stop.changed()));
            poll_fn(|context| {
                if stopping.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                accepting.as_mut().poll(context).map(Some)
            })
            .await
        };
        match accepted {
            None => break,
            Some(Ok((stream, peer))) => {
                if let Ok(permit) = connections.clone().try_acquire_owned() {
                    let (core, stop) = (core.clone(), closing.clone());
                    tokio::spawn(async move {
                        connection(core, stream, (peer, is_loopback), stop).await;
                        drop(permit);
                    });
                } else {
                    core.metrics.count(None, 503, Duration::ZERO);
                    tokio::spawn(refuse(stream));
                }
            }
            // Out of files, most likely: wait until connections have ended.
            Some(Err(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(socket);
    closed.send_replace(true);
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let deadline = Duration::from_secs(limits.stop_seconds);
    let _ = tokio::time::timeout(deadline, connections.acquire_many(all)).await;
}

async fn connection(
    core: Arc<Core>,
    stream: TcpStream,
    (peer, is_loopback): (SocketAddr, bool),
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let limits = core.settings.limits;
    let timed = TimedStream::new(stream, Duration::from_secs(limits.write_seconds));
    let (has_request, metrics) = (timed.has_request(), core.clone());
    let service = service_fn(move |request| {
        let core = core.clone();
        async move { Ok::<_, Infallible>(dispatch(core, peer, is_loopback, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.read_seconds))
        .max_buf_size(limits.header_bytes)
        .half_close(false);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(timed), service));
    let mut stopping = pin!(stop.changed());
    let mut is_stopping = false;
    let served = poll_fn(|context| {
        if !is_stopping && stopping.as_mut().poll(context).is_ready() {
            is_stopping = true;
            serving.as_mut().graceful_shutdown();
        }
        serving.as_mut().poll(context)
    })
    .await;
    let error = served.err();
    // A connection that ends while it waits for a request has refused none.
    let is_idle = |error: &hyper::Error| error.is_timeout() && !has_request.load(Ordering::Relaxed);
    if let Some(status) = error
        .filter(|error| !is_idle(error))
        .and_then(|error| refused_as(&error))
    {
        metrics.metrics.count(None, status, Duration::ZERO);
    }
}

/// The status of the answer to a head that could not be read, which no handler saw.
fn refused_as(error: &hyper::Error) -> Option<u16> {
    match error {
        error if error.is_parse_too_large() => Some(431),
        error if error.is_parse() => Some(400),
        error if error.is_timeout() => Some(408),
        _ => None,
    }
}

/// Answers a connection that is one too many.
async fn refuse(mut stream: TcpStream) {
    let body = r#"{"error":{"code":"too_many_connections","message":"too many connections"}}"#;
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let write = stream.write_all(text.as_bytes());
    let _ = tokio::time::timeout(Duration::from_secs(1), write).await;
    let _ = stream.shutdown().await;
}
