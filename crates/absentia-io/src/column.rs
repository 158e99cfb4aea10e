//! The roles of columns, and how a caller assigns columns to roles.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// The user's id.
    User,
    /// The item's id.
    Item,
    /// The rating or count: the raw value of the entry.
    Rating,
    /// The time, in unix time.
    Time,
    /// The weight `c_ui` of the entry.
    Weight,
}

impl Column {
    /// Every role, in the order of columns in a file without a header.
    pub const ALL: [Self; 5] = [
        Self::User,
        Self::Item,
        Self::Rating,
        Self::Time,
        Self::Weight,
    ];

    /// The role's name, also the heading written to files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Item => "item",
            Self::Rating => "rating",
            Self::Time => "time",
            Self::Weight => "weight",
        }
    }

    /// Whether `heading` is a usual name for this role, whatever its case and punctuation.
    #[must_use]
    pub fn is_usual_heading(self, heading: &str) -> bool {
        let plain = plain(heading);
        self.usual_headings().contains(&plain.as_str()) || self.is_rarer(&plain)
    }

    /// The place of the column with a usual name for this role, among those that are free; one with a
    /// rarer name only where there is none.
    pub(crate) fn place_among(
        self,
        names: &[String],
        is_free: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
        let mut free = (0..names.len()).filter(|&place| is_free(place));
        let usual = |place: &usize| self.usual_headings().contains(&names[*place].as_str());
        let rarer = |place: &usize| self.is_rarer(&names[*place]);
        free.clone().find(usual).or_else(|| free.find(rarer))
    }

    /// Whether a heading is a name for this role that files have beside a usual one as well.
    fn is_rarer(self, plain: &str) -> bool {
        const TIMES: [&str; 26] = [
            "createdat",
            "createdate",
            "creationdate",
            "datecreated",
            "eventtime",
            "eventtimestamp",
            "eventdate",
            "ratingtime",
            "ratedat",
            "reviewtime",
            "reviewdate",
            "watchedat",
            "playedat",
            "listenedat",
            "viewedat",
            "visitedat",
            "clickedat",
            "purchasedat",
            "purchasedate",
            "orderedat",
            "orderdate",
            "invoicedate",
            "transactiondate",
            "interactiontime",
            "occurredat",
            "updatedat",
        ];
        // Words that are no ids themselves: a file without headings can start with an item named "film".
        const USERS: [&str; 12] = [
            "username",
            "customernumber",
            "personid",
            "shopperid",
            "sessionid",
            "steamid",
            "memberid",
            "accountid",
            "buyerid",
            "clientid",
            "subscriberid",
            "profileid",
        ];
        const ITEMS: [&str; 17] = [
            "itemname",
            "itemcode",
            "stockcode",
            "productcode",
            "productname",
            "appid",
            "recipeid",
            "postid",
            "poiid",
            "venueid",
            "filmid",
            "gameid",
            "videoid",
            "articleid",
            "contentid",
            "newsid",
            "showid",
        ];
        match self {
            Self::User => USERS.contains(&plain),
            Self::Item => ITEMS.contains(&plain),
            Self::Time => TIMES.contains(&plain),
            Self::Rating | Self::Weight => false,
        }
    }

    fn usual_headings(self) -> &'static [&'static str] {
        match self {
            Self::User => &[
                "user",
                "userid",
                "users",
                "uid",
                "useridx",
                "visitorid",
                "customerid",
                "reviewerid",
                "u",
            ],
            Self::Item => &[
                "item",
                "itemid",
                "items",
                "iid",
                "itemidx",
                "movie",
                "movieid",
                "productid",
                "product",
                "asin",
                "artist",
                "artistid",
                "businessid",
                "songid",
                "trackid",
                "bookid",
                "isbn",
                "i",
            ],
            Self::Rating => &[
                "rating",
                "ratings",
                "ratingscore",
                "score",
                "value",
                "stars",
                "overall",
                "count",
                "quantity",
                "plays",
                "playcount",
                "r",
            ],
            Self::Time => &[
                "time",
                "timestamp",
                "ts",
                "date",
                "datetime",
                "unixtime",
                "unixreviewtime",
                "t",
            ],
            Self::Weight => &["weight", "confidence", "w"],
        }
    }
}

/// A heading in lower case, without spaces and punctuation.
fn plain(heading: &str) -> String {
    let kept = heading.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A column as a caller names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRef {
    /// By its heading.
    Name(String),
    /// By its place, the first being 1.
    Position(usize),
    /// Not to be read at all.
    Absent,
}

impl fmt::Display for ColumnRef {
    /// Writes it as it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Position(place) => write!(f, "{place}"),
            Self::Absent => f.write_str("none"),
        }
    }
}

impl FromStr for ColumnRef {
    type Err = Error;

    /// Reads a whole number as a place, `none` as absence and anything else as a heading.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(0) => Err(Error::BadOption {
                option: "column",
                got: text.to_owned(),
                expected: "a heading or a place from 1",
            }),
            Ok(place) => Ok(Self::Position(place)),
            Err(_) if text == "none" => Ok(Self::Absent),
            Err(_) => Ok(Self::Name(text.to_owned())),
        }
    }
}

/// Which column plays which role; those left out are found by heading or place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The column of users.
    pub user: Option<ColumnRef>,
    /// The column of items.
    pub item: Option<ColumnRef>,
    /// The column of ratings.
    pub rating: Option<ColumnRef>,
    /// The column of times.
    pub time: Option<ColumnRef>,
    /// The column of entry weights.
    pub weight: Option<ColumnRef>,
}

impl Columns {
    /// The caller's choice for one role.
    #[must_use]
    pub fn get(&self, column: Column) -> Option<&ColumnRef> {
        match column {
            Column::User => self.user.as_ref(),
            Column::Item => self.item.as_ref(),
            Column::Rating => self.rating.as_ref(),
            Column::Time => self.time.as_ref(),
            Column::Weight => self.weight.as_ref(),
        }
    }

    /// Whether any column was chosen by heading, so that a header must exist.
    #[must_use]
    pub fn any_by_name(&self) -> bool {
        Column::ALL
            .iter()
            .any(|&c| matches!(self.get(c), Some(ColumnRef::Name(_))))
    }
}
