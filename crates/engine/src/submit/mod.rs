mod request;
pub use request::{JobRequest, Receipt, When};
