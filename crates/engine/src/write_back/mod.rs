pub(crate) mod output;
