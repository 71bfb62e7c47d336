//! Cron expressions.

use mainspring_model::cron::Preview;
use serde::Serialize;
use utoipa::ToSchema;

/// An expression to try out.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronPreviewRequest {
    /// 5 fields or a macro as in crontab, 6 or 7 fields as in Quartz.
    #[schema(example = "30 2 * * *")]
    pub expression: String,
    /// A name of the IANA database; UTC when absent.
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// Fires come after this instant; now when absent.
    #[schema(format = DateTime)]
    pub from: Option<String>,
    /// How many fires: 1 to 100, 5 when absent.
    pub count: Option<u32>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronPreview {
    /// crontab or quartz.
    pub dialect: &'static str,
    pub description: CronDescription,
    /// RFC 3339 with the zone's offset. Fewer than asked for when fewer remain, none when it never fires.
    pub next_fires: Vec<String>,
    pub warnings: Vec<CronWarning>,
}

/// In plain words.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CronDescription {
    pub en: String,
    pub zh: String,
}

/// Valid, but perhaps not what was meant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CronWarning {
    /// UNEVEN_STEP, STAR_AND_DAYS, DOW_NUMBERS, DOW_L_IS_SATURDAY, SHORT_MONTHS, IN_DST_GAP, SUBMINUTE or RARE.
    pub code: &'static str,
    pub detail: String,
}

impl From<Preview> for CronPreview {
    fn from(preview: Preview) -> CronPreview {
        let warnings = preview.warnings.into_iter();
        CronPreview {
            dialect: preview.dialect.as_str(),
            description: CronDescription { en: preview.description.en, zh: preview.description.zh },
            next_fires: preview.next_fires,
            warnings: warnings
                .map(|warning| CronWarning { code: warning.code.as_str(), detail: warning.detail })
                .collect(),
        }
    }
}
