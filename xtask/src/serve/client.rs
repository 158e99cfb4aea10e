//! A client that sends requests at a rate, whether or not earlier ones are answered, and one that sends
//! the next request after each answer.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What became of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// Answers with status 200.
    pub(super) good: usize,
    /// Other answers.
    pub(super) refused: usize,
    /// Latencies of the good ones in seconds, from the moment at which they were due.
    pub(super) latencies: Vec<f64>,
    /// How long it took.
    pub(super) seconds: f64,
}

impl Report {
    pub(super) fn rate(&self) -> f64 {
        self.good as f64 / self.seconds.max(1e-9)
    }

    /// The latency that a share of the answers stayed within, in milliseconds.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(at).map_or(f64::NAN, |seconds| seconds * 1e3)
    }
}

/// Bytes that are read at a time; an answer with twenty items fits.
const CHUNK: usize = 16 << 10;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection that is kept.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of the answer that have come.
    filled: usize,
    /// The head of the answer, once it is whole.
    head: Option<Head>,
    /// When the request that waits for an answer was due.
    due: Option<Instant>,
}

impl Connection {
    fn open(address: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
        let _ = stream.set_nodelay(true);
        Ok(Self {
            stream,
            buffer: vec![0; CHUNK],
            filled: 0,
            head: None,
            due: None,
        })
    }

    fn send(&mut self, request: &str, due: Instant) -> io::Result<()> {
        (self.filled, self.head, self.due) = (0, None, Some(due));
        self.stream.write_all(request.as_bytes())
    }

    /// Reads what has come; yields the status once the answer is whole, and when its request was due.
    fn receive(&mut self) -> io::Result<Option<(u16, Instant)>> {
        // The body is not looked at: what follows the head may be written over.
        let from = if self.head.is_some() { 0 } else { self.filled };
        if from == self.buffer.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match self.stream.read(&mut self.buffer[from..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => self.filled += count,
        }
        if self.head.is_none() {
            self.head = Head::of(&self.buffer[..self.filled]);
        }
        let whole = |head: &&Head| self.filled >= head.length + head.body;
        let status = self.head.as_ref().filter(whole).map(|head| head.status);
        Ok(status.and_then(|status| Some((status, self.due.take()?))))
    }
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Bytes of the head with the blank line.
    length: usize,
    /// Bytes of the body.
    body: usize,
}

impl Head {
    /// The head at the start of some bytes, if it is there as a whole.
    fn of(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let mut lines = bytes[..end].split(|&byte| byte == b'\n');
        let status = number(lines.next()?.get(9..12)?);
        let name = b"content-length:";
        let body = lines.find_map(|line| {
            let (start, value) = line.split_at_checked(name.len())?;
            start.eq_ignore_ascii_case(name).then(|| number(value))
        });
        Some(Self {
            status: status as u16,
            length: end + 4,
            body: body.unwrap_or(0),
        })
    }
}

/// The number that the digits of some bytes are.
fn number(bytes: &[u8]) -> usize {
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'))
}

/// When requests are sent.
#[derive(Clone, Copy)]
enum Schedule {
    /// A number of requests, one every `interval` seconds, whether or not earlier ones are answered.
    Rate { interval: f64, total: usize },
    /// The next request of a connection after each answer, for some time.
    OneAfterTheOther(Duration),
}

impl Schedule {
    /// When a request is due, if it is still to be sent.
    fn due(self, number: usize, start: Instant) -> Option<Instant> {
        match self {
            Self::Rate { interval, total } => {
                (number < total).then(|| start + Duration::from_secs_f64(number as f64 * interval))
            }
            Self::OneAfterTheOther(time) => {
                let now = Instant::now();
                (now < start + time).then_some(now)
            }
        }
    }
}

/// Sends `make(0)`, `make(1)`, ... at a rate over a number of connections for some seconds.
pub(super) fn at_rate(
    address: &str,
    connections: usize,
    rate: f64,
    seconds: f64,
    make: impl Fn(usize) -> String,
) -> Result<Report, String> {
    let schedule = Schedule::Rate {
        interval: 1.0 / rate,
        total: (rate * seconds) as usize,
    };
    run(address, connections, schedule, make)
}

/// Sends a request after each answer over a number of connections for some seconds.
pub(super) fn as_fast_as_possible(
    address: &str,
    connections: usize,
    seconds: f64,
    make: impl Fn(usize) -> String,
) -> Result<Report, String> {
    let schedule = Schedule::OneAfterTheOther(Duration::from_secs_f64(seconds));
    run(address, connections, schedule, make)
}

/// Sends requests from one thread, which waits for all connections together. Client and server share the
/// processors: a thread for each connection would take more time from the server than its own work.
fn run(
    address: &str,
    connections: usize,
    schedule: Schedule,
    make: impl Fn(usize) -> String,
) -> Result<Report, String> {
    let open = (0..connections).map(|_| Connection::open(address));
    let mut connections = open.collect::<Result<Vec<_>, String>>()?;
    let mut idle: Vec<usize> = (0..connections.len()).rev().collect();
    let failed = |error: io::Error| format!("a request failed: {error}");
    let (start, mut report, mut number) = (Instant::now(), Report::default(), 0);
    loop {
        let due = schedule.due(number, start);
        if let Some(due) = due.filter(|&due| due <= Instant::now())
            && let Some(at) = idle.pop()
        {
            connections[at].send(&make(number), due).map_err(failed)?;
            number += 1;
            continue;
        }
        if due.is_none() && idle.len() == connections.len() {
            break;
        }
        // A request that is due waits for an answer on any connection, all others for their moment.
        let moment = due.filter(|_| !idle.is_empty());
        for at in readable(&connections, moment).map_err(failed)? {
            if let Some((status, due)) = connections[at].receive().map_err(failed)? {
                report.add(status, due);
                idle.push(at);
            }
        }
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Connections with something to read; waits for one until a moment, at most [`PATIENCE`].
fn readable(connections: &[Connection], until: Option<Instant>) -> io::Result<Vec<usize>> {
    let busy = |at: &usize| connections[*at].due.is_some();
    let busy: Vec<usize> = (0..connections.len()).filter(busy).collect();
    let streams = busy.iter().map(|&at| &connections[at].stream);
    let mut waiting: Vec<PollFd<'_>> = streams
        .map(|stream| PollFd::new(stream, PollFlags::IN))
        .collect();
    let wait = until.map_or(PATIENCE, |until| {
        until.saturating_duration_since(Instant::now())
    });
    let wait = Timespec::try_from(wait).map_err(|_| io::ErrorKind::InvalidInput)?;
    let ready = poll(&mut waiting, Some(&wait))?;
    if ready == 0 && until.is_none() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let has_come = waiting.iter().map(|waiting| !waiting.revents().is_empty());
    Ok(busy
        .iter()
        .zip(has_come)
        .filter_map(|(&at, has_come)| has_come.then_some(at))
        .collect())
}

impl Report {
    fn add(&mut self, status: u16, due: Instant) {
        if status == 200 {
            self.good += 1;
            self.latencies.push(due.elapsed().as_secs_f64());
        } else {
            self.refused += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_when_they_are_whole() {
        let answer = b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 12\r\n\r\n{}";
        for cut in 0..answer.len() - 2 {
            assert_eq!(Head::of(&answer[..cut]), None, "{cut}");
        }
        let expected = Head {
            status: 503,
            length: answer.len() - 2,
            body: 12,
        };
        assert_eq!(Head::of(answer), Some(expected));
    }
}
