//! The one place that looks at files, the environment and flags for the configuration.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Value;

use super::layers::{Origin, TASK_FILES, TaskFile};
use super::{Config, Layers, Sources};
use crate::args::{Place, Serve};
use crate::failure::Failure;

const FILE_DEFAULT: &str = "mainspring.toml";
const FILE_VARIABLE: &str = "MAINSPRING_CONFIG";

/// The layers for `serve`.
pub(crate) fn layers_of(args: &Serve) -> Result<Layers, Failure> {
    let mut flags = place_flags(&args.place);
    if let Some(listen) = &args.listen {
        flags.push(("--listen", "server.listen", Value::from(listen.as_str())));
    }
    if !args.labels.is_empty() {
        flags.push(("--label", "node.labels", Value::from(args.labels.clone())));
    }
    if let Some(lease) = &args.lease {
        flags.push(("--lease", "node.lease", Value::from(lease.as_str())));
    }
    let dev = args.dev.then_some(DEV_FLAG);
    if dev.is_some() {
        flags.push((DEV_FLAG, "probes.enabled", Value::from(true)));
    }
    let mut layers = layers(&args.place, flags)?;
    if dev.is_some() {
        layers.append_to_list("http.allow", &["127.0.0.0/8", "::1"], DEV_FLAG);
    }
    Ok(layers)
}

const DEV_FLAG: &str = "--dev";

/// The configuration for commands that only need to find the database.
pub(crate) fn config_of(place: &Place) -> Result<Config, Failure> {
    let layers = layers(place, place_flags(place))?;
    Config::of(&layers).map_err(|complaints| Failure::configuration(&complaints))
}

fn place_flags(place: &Place) -> Vec<(&'static str, &'static str, Value)> {
    let mut flags = Vec::new();
    if let Some(database) = &place.database {
        flags.push(("--database", "database.url", Value::from(database.as_str())));
    }
    if let Some(data_dir) = &place.data_dir {
        flags.push(("--data-dir", "data.dir", Value::from(data_dir.as_str())));
    }
    flags
}

fn layers(place: &Place, flags: Vec<(&'static str, &'static str, Value)>) -> Result<Layers, Failure> {
    let named = place.config.clone().or_else(|| std::env::var_os(FILE_VARIABLE).map(PathBuf::from));
    let file = match &named {
        Some(path) => Some(read(path)?),
        None => read_if_there(Path::new(FILE_DEFAULT))?,
    };
    // Text that is not Unicode cannot be a value; it is shown with replacements and then refused as one.
    let environment = std::env::vars_os()
        .map(|(name, text)| (name.to_string_lossy().into_owned(), text.to_string_lossy().into_owned()))
        .collect();
    let mut layers = Layers::of(Sources { file, environment, flags });
    read_task_files(&mut layers);
    Ok(layers)
}

/// Their names are read from where the list stands: beside the configuration file, or in the working directory.
fn read_task_files(layers: &mut Layers) {
    let Some(list) = layers.values.get(TASK_FILES) else { return };
    let base = match &list.origin {
        Origin::File(file) => Path::new(file).parent().map(Path::to_owned).unwrap_or_default(),
        Origin::Default | Origin::Environment(_) | Origin::Flag(_) => PathBuf::new(),
    };
    let origin = list.origin.to_string();
    let names = list.value.as_array().into_iter().flatten().filter_map(Value::as_str);
    for path in names.map(|name| base.join(name)).collect::<Vec<_>>() {
        let name = path.display().to_string();
        match std::fs::read_to_string(&path) {
            Ok(text) => layers.task_files.push(TaskFile { name, text }),
            Err(error) => layers.complaints.push(format!("{origin}: {TASK_FILES}: {name} cannot be read: {error}")),
        }
    }
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((path.display().to_string(), text)),
        Err(error) => Err(Failure::configuration(&[format!("{} cannot be read: {error}", path.display())])),
    }
}

fn read_if_there(path: &Path) -> Result<Option<(String, String)>, Failure> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        _ => read(path).map(Some),
    }
}
