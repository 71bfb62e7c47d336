//! Prints the document of the interface: `cargo run -p mainspring-server --example openapi > docs/openapi.json`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(mainspring_server::document().as_bytes())
}
