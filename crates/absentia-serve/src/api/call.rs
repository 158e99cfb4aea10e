//! A request with its parameters and body, and an answer.

use bytes::Bytes;
use serde::Serialize;

use super::routes::decoded;
use crate::auth::Principal;
use crate::error::ApiError;

/// A request as handlers see it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Parameters of the path, in order.
    pub parameters: Vec<String>,
    /// Parameters of the query.
    query: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// `Content-Type`, without its parameters.
    pub content_type: String,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// Method and path, as they were sent.
    pub target: String,
    /// Who sent it.
    pub principal: Option<Principal>,
}

impl Call {
    /// Takes the parts of a request.
    ///
    /// # Errors
    /// A query that is not well-formed, or a parameter that is there twice.
    pub fn new(parameters: Vec<String>, query: &str) -> Result<Self, ApiError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |part: &str| decoded(&part.replace('+', " "));
            let (Some(name), Some(value)) = (text(name), text(value)) else {
                return Err(ApiError::bad("bad_query", "the query is not well-formed"));
            };
            if pairs.iter().any(|(known, _)| *known == name) {
                let message = "it is there twice";
                return Err(ApiError::bad("bad_query", message).field(name));
            }
            pairs.push((name, value));
        }
        Ok(Self {
            parameters,
            query: pairs,
            body: Bytes::new(),
            content_type: String::new(),
            idempotency_key: None,
            target: String::new(),
            principal: None,
        })
    }

    /// Refuses parameters of the query that are not among these.
    ///
    /// # Errors
    /// Names the first one.
    pub fn only(&self, names: &[&str]) -> Result<(), ApiError> {
        match self
            .query
            .iter()
            .find(|(name, _)| !names.contains(&name.as_str()))
        {
            None => Ok(()),
            Some((name, _)) => {
                let message = match names {
                    [] => "this request has no parameters".to_owned(),
                    _ => format!("there is no such parameter; there are {}", names.join(", ")),
                };
                Err(ApiError::bad("unknown_parameter", message).field(name))
            }
        }
    }

    /// A parameter of the query.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A whole number of the query between two bounds.
    ///
    /// # Errors
    /// Anything else.
    pub fn number(
        &self,
        name: &'static str,
        default: usize,
        (least, most): (usize, usize),
    ) -> Result<usize, ApiError> {
        let Some(text) = self.text(name) else {
            return Ok(default);
        };
        let number = text
            .parse()
            .ok()
            .filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            ApiError::invalid(
                name,
                format!("it must be a whole number from {least} to {most}"),
            )
        })
    }

    /// A list of the query: parts between commas.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    }

    /// A parameter of the path.
    #[must_use]
    pub fn parameter(&self, at: usize) -> String {
        self.parameters.get(at).cloned().unwrap_or_default()
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

impl Answer {
    /// An answer in JSON.
    ///
    /// # Errors
    /// A value that has no JSON form.
    pub fn json(status: u16, value: &impl Serialize) -> Result<Self, ApiError> {
        let body = serde_json::to_vec(value);
        let body = body.map_err(|error| ApiError::new(500, "internal", error.to_string()))?;
        Ok(Self::of(status, "application/json", body))
    }

    /// An answer with a body.
    #[must_use]
    pub fn of(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
            headers: Vec::new(),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl From<&ApiError> for Answer {
    fn from(error: &ApiError) -> Self {
        let body = serde_json::json!({ "error": error }).to_string();
        let answer = Self::of(error.status, "application/json", body);
        match error.retry_after {
            Some(seconds) => answer.header("retry-after", seconds.to_string()),
            None => answer,
        }
    }
}
