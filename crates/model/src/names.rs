//! Closed sets of words that stand in SQL as numbers and in JSON as text.

/// An enum whose variants have a code for the database and a word for people and programs.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn code(self) -> i64 { match self { $($name::$variant => $code),+ } }

            /// `None` for a code of a newer version: the caller says what that means, and never panics.
            pub const fn from_code(code: i64) -> Option<$name> {
                match code { $($code => Some($name::$variant),)+ _ => None }
            }

            pub const fn as_str(self) -> &'static str { match self { $($name::$variant => $word),+ } }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.pad(self.as_str()) }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::refused::Refused;
            fn from_str(text: &str) -> Result<$name, Self::Err> {
                match text { $($word => Ok($name::$variant),)+ _ => {
                    let known = [$($word),+].join(", ");
                    let shown = $crate::text::excerpt(text, 40);
                    let detail = format!("`{shown}` is not one of {known}");
                    Err($crate::refused::Refused::field(stringify!($name), "UNKNOWN_WORD", detail))
                } }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> { to.serialize_str(self.as_str()) }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use words;
