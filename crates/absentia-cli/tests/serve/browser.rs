//! A headless Chromium that is driven through its debugging port: pages are opened, typed into and clicked.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    socket: BufReader<TcpStream>,
    session: Value,
    last: u64,
    events: VecDeque<Value>,
    /// What the page and the browser complained about.
    pub(crate) complaints: Vec<String>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a Chromium is, if there is one.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("ABSENTIA_CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

impl Browser {
    /// Starts a browser for which `shop.example` is this machine; none if there is no Chromium.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        let mut child = Command::new(program()?)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-sync", "--disable-component-update"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-port=0"])
            .args(["--host-resolver-rules=MAP shop.example 127.0.0.1"])
            .arg(format!(
                "--user-data-dir={}",
                folder.join("profile").display()
            ))
            .arg("about:blank")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "no debugging port");
            if let Some(address) = line.trim().strip_prefix("DevTools listening on ws://") {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let mut browser = Self {
            child,
            socket: connected(&address),
            session: Value::Null,
            last: 0,
            events: VecDeque::new(),
            complaints: Vec::new(),
        };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", &attach)["sessionId"].clone();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, &json!({}));
        }
        Some(browser)
    }

    /// Opens an address and waits until the page is loaded.
    pub(crate) fn open(&mut self, address: &str) {
        self.events.clear();
        let gone = self.call("Page.navigate", &json!({"url": address}));
        assert!(gone["errorText"].is_null(), "{address}: {gone}");
        self.loaded();
    }

    /// Waits until a page is loaded.
    fn loaded(&mut self) {
        while let Some(event) = self.events.pop_front() {
            if event["method"] == "Page.loadEventFired" {
                return;
            }
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            let event = self.receive();
            if event["method"] == "Page.loadEventFired" {
                return;
            }
        }
        panic!("the page is not loaded");
    }

    /// The text of the page as a reader sees it.
    pub(crate) fn text(&mut self) -> String {
        let text = self.evaluate("document.body.innerText");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Number of elements that a selector finds.
    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        let code = format!("document.querySelectorAll({}).length", json!(selector));
        self.evaluate(&code).as_u64().unwrap()
    }

    /// Presses the mouse on an element and waits for the page that follows. A page that is laid out again
    /// meanwhile may have moved the element away: then it is pressed again.
    pub(crate) fn click(&mut self, selector: &str) {
        for _ in 0..4 {
            let place = self.evaluate(&format!(
                "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}});
                  const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
                json!(selector)
            ));
            assert!(place[0].is_number(), "there is no {selector}");
            self.events.clear();
            for kind in ["mousePressed", "mouseReleased"] {
                let press = json!({
                    "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
                });
                self.call("Input.dispatchMouseEvent", &press);
            }
            if !self.events.is_empty() || self.has_message() {
                return self.loaded();
            }
        }
        panic!("nothing follows a click on {selector}");
    }

    /// Whether a message comes within some seconds.
    fn has_message(&mut self) -> bool {
        let patience = |seconds| Some(Duration::from_secs(seconds));
        self.socket.get_ref().set_read_timeout(patience(5)).unwrap();
        let has_message = self.socket.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.socket
            .get_ref()
            .set_read_timeout(patience(60))
            .unwrap();
        has_message
    }

    /// Types into a field, whose text is replaced.
    pub(crate) fn type_into(&mut self, selector: &str, text: &str) {
        let selector = json!(selector);
        self.evaluate(&format!(
            "(() => {{ const e = document.querySelector({selector}); e.value = ''; e.focus(); }})()"
        ));
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Saves pictures of the page, wide and on a phone, light and dark, into the folder that
    /// `ABSENTIA_SCREENSHOTS` names.
    pub(crate) fn pictures(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("ABSENTIA_SCREENSHOTS") else {
            return;
        };
        for (size, width) in [("wide", 1280), ("phone", 390)] {
            for scheme in ["light", "dark"] {
                let metrics = json!({
                    "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500,
                });
                self.call("Emulation.setDeviceMetricsOverride", &metrics);
                let feature = json!({"name": "prefers-color-scheme", "value": scheme});
                self.call(
                    "Emulation.setEmulatedMedia",
                    &json!({"features": [feature]}),
                );
                let order = json!({"format": "png", "captureBeyondViewport": true});
                let taken = self.call("Page.captureScreenshot", &order);
                let path = PathBuf::from(&folder).join(format!("{name}-{size}-{scheme}.png"));
                std::fs::write(path, decoded(taken["data"].as_str().unwrap())).unwrap();
            }
        }
        self.call("Emulation.clearDeviceMetricsOverride", &json!({}));
    }

    /// The width of the page or of one of its charts beyond that of a phone, in pixels: 0 if nothing need be moved
    /// sideways.
    pub(crate) fn overflow_on_a_phone(&mut self) -> f64 {
        let metrics = json!({"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let beyond = self.evaluate(
            "Math.max(document.documentElement.scrollWidth,
             ...[...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().right)) - 390",
        );
        self.call("Emulation.clearDeviceMetricsOverride", &json!({}));
        beyond.as_f64().unwrap()
    }

    fn evaluate(&mut self, code: &str) -> Value {
        let order = json!({"expression": code, "returnByValue": true});
        let result = self.call("Runtime.evaluate", &order);
        assert!(result["exceptionDetails"].is_null(), "{code}: {result}");
        result["result"]["value"].clone()
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.send(message.to_string().as_bytes());
        loop {
            let answer = self.receive();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    /// Sends a message as one frame of a web socket; clients have to mask theirs.
    fn send(&mut self, text: &[u8]) {
        let mut frame = vec![0x81];
        match text.len() {
            short @ 0..=125 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        // A mask of zeros changes nothing.
        frame.extend([0; 4]);
        frame.extend(text);
        self.socket.get_mut().write_all(&frame).unwrap();
    }

    /// The next message; what the browser complains about is remembered.
    fn receive(&mut self) -> Value {
        let mut text = Vec::new();
        loop {
            let mut head = [0; 2];
            self.socket.read_exact(&mut head).unwrap();
            let length = match head[1] & 127 {
                126 => {
                    let mut bytes = [0; 2];
                    self.socket.read_exact(&mut bytes).unwrap();
                    u64::from(u16::from_be_bytes(bytes))
                }
                127 => {
                    let mut bytes = [0; 8];
                    self.socket.read_exact(&mut bytes).unwrap();
                    u64::from_be_bytes(bytes)
                }
                short => u64::from(short),
            };
            let start = text.len();
            text.resize(start + length as usize, 0);
            self.socket.read_exact(&mut text[start..]).unwrap();
            if head[0] & 128 != 0 {
                break;
            }
        }
        let message: Value = serde_json::from_slice(&text).unwrap();
        let is_complaint = match message["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => true,
            "Log.entryAdded" => message["params"]["entry"]["level"] != "verbose",
            _ => false,
        };
        if is_complaint {
            self.complaints.push(message["params"].to_string());
        }
        message
    }
}

/// A web socket to an address with a path.
fn connected(address: &str) -> BufReader<TcpStream> {
    let (host, path) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let request = format!(
        "GET /{path} HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut socket = BufReader::new(stream);
    let mut line = String::new();
    socket.read_line(&mut line).unwrap();
    assert!(line.contains(" 101 "), "{line}");
    while line.trim_end() != "" {
        line.clear();
        socket.read_line(&mut line).unwrap();
    }
    socket
}

/// Bytes of a text in base 64.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        bits = bits << 6 | u32::from(digit(byte));
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 255) as u8);
        }
    }
    bytes
}
