//! `/docs`: the document as a page to read. No script, so its policy allows none.

use std::fmt::Write;

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;

use crate::problem::all_codes;

const STYLE: &str = include_str!("docs.css");
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

pub(crate) fn page(html: String) -> Response {
    ([(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))], Html(html)).into_response()
}

pub(crate) async fn style() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("max-age=3600")),
    ];
    (headers, STYLE).into_response()
}

pub(crate) fn render(document: &Value) -> String {
    let mut html = String::with_capacity(64 * 1024);
    let title = text(&document["info"]["title"]);
    html.push_str("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width\">");
    put(&mut html, format_args!("<title>{title} REST</title><link rel=\"stylesheet\" href=\"/docs/style.css\">"));
    put(&mut html, format_args!("<header><h1>{title}</h1><p>{}</p>", text(&document["info"]["description"])));
    html.push_str("<p><a href=\"/openapi.json\">openapi.json</a></p></header><main>");
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        put(&mut html, format_args!("<h2 id=\"tag-{name}\">{name}</h2><p>{}</p>", text(&tag["description"])));
        operations(&mut html, document, &tag["name"]);
    }
    html.push_str("<h2 id=\"shapes\">Shapes</h2>");
    for (name, schema) in members(&document["components"]["schemas"]) {
        shape(&mut html, name, schema);
    }
    html.push_str("<h2 id=\"codes\">Codes</h2><table><tr><th>code<th>status<th>meaning</tr>");
    for (code, status, title) in all_codes() {
        put(&mut html, format_args!("<tr id=\"{code}\"><td><code>{code}</code><td>{status}<td>{}</tr>", escape(title)));
    }
    html.push_str("</table></main></html>");
    html
}

fn operations(html: &mut String, document: &Value, tag: &Value) {
    for (path, item) in members(&document["paths"]) {
        for method in METHODS {
            let operation = &item[method];
            if operation["tags"].get(0) == Some(tag) {
                show_operation(html, path, method, operation);
            }
        }
    }
}

fn show_operation(html: &mut String, path: &str, method: &str, operation: &Value) {
    let (path, summary) = (escape(path), text(&operation["summary"]));
    put(
        html,
        format_args!("<details><summary><b class=\"{method}\">{method}</b> <code>{path}</code> {summary}</summary>"),
    );
    put(html, format_args!("<p>{}</p>", text(&operation["description"])));
    let parameters = list(&operation["parameters"]);
    if !parameters.is_empty() {
        html.push_str("<table><tr><th>parameter<th>in<th>type<th></tr>");
        for parameter in parameters {
            let (name, place) = (text(&parameter["name"]), text(&parameter["in"]));
            let (kind, about) = (type_of(&parameter["schema"]), text(&parameter["description"]));
            put(html, format_args!("<tr><td><code>{name}</code><td>{place}<td>{kind}<td>{about}</tr>"));
        }
        html.push_str("</table>");
    }
    for (media, content) in members(&operation["requestBody"]["content"]) {
        put(html, format_args!("<p>Body, {}: {}</p>", escape(media), type_of(&content["schema"])));
    }
    html.push_str("<table><tr><th>status<th>answer<th></tr>");
    for (status, response) in members(&operation["responses"]) {
        let mut bodies: Vec<String> = members(&response["content"]).map(|(_, body)| type_of(&body["schema"])).collect();
        bodies.dedup();
        let (status, about) = (escape(status), text(&response["description"]));
        put(html, format_args!("<tr><td>{status}<td>{}<td>{about}</tr>", bodies.join(" or ")));
    }
    html.push_str("</table></details>");
}

fn shape(html: &mut String, name: &str, schema: &Value) {
    let name = escape(name);
    put(html, format_args!("<details id=\"shape-{name}\"><summary><code>{name}</code></summary>"));
    put(html, format_args!("<p>{}</p>", text(&schema["description"])));
    let parts = std::iter::once(schema).chain(list(&schema["allOf"])).chain(list(&schema["oneOf"]));
    for part in parts {
        if part["$ref"].is_string() {
            put(html, format_args!("<p>and {}</p>", type_of(part)));
        }
        html.push_str("<table>");
        for (field, about) in members(&part["properties"]) {
            let needed = list(&part["required"]).iter().any(|required| required == field);
            let mark = if needed { "" } else { " <i>optional</i>" };
            let (field, kind) = (escape(field), type_of(about));
            let about = text(&about["description"]);
            put(html, format_args!("<tr><td><code>{field}</code>{mark}<td>{kind}<td>{about}</tr>"));
        }
        html.push_str("</table>");
    }
    html.push_str("</details>");
}

/// A type in words, with a link where it has a name.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let name = escape(name);
        return format!("<a href=\"#shape-{name}\">{name}</a>");
    }
    let choice = list(&schema["oneOf"]);
    if !choice.is_empty() {
        return choice.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any JSON".to_owned(),
    };
    match (kinds.as_str(), schema["format"].as_str()) {
        (list, _) if list.starts_with("array") => format!("list of {}", type_of(&schema["items"])),
        (_, Some("date-time")) => kinds.replace("string", "instant"),
        _ => escape(&kinds),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn put(html: &mut String, piece: std::fmt::Arguments<'_>) {
    html.write_fmt(piece).expect("text takes everything");
}
