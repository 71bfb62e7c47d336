//! Programs that submit jobs, and repeat what they are not sure of: with the same key if there is one, without a key
//! only when they were told that nothing was stored.

use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::{Error, Receipt};
use mainspring_model::time::Clock;
use mainspring_model::{Code, Unique};
use mainspring_store::StoreError;

use crate::ghost::{Ack, Told};
use crate::locked;
use crate::workload::Wanted;
use crate::world::World;

pub(crate) const CLIENTS: usize = 3;
const TRIES_MAX: u32 = 30;
const ANSWER_WAIT: Duration = Duration::from_secs(30);
const BULK_MAX: usize = 40;

/// Sends every `CLIENTS`th job of the workload.
pub(crate) async fn submit_all(world: Arc<World>, place: usize) {
    let mine: Vec<Wanted> = world.workload.jobs.iter().skip(place).step_by(CLIENTS).cloned().collect();
    let mut rest = mine.as_slice();
    while let Some(first) = rest.first() {
        let bulk = rest.iter().take(BULK_MAX - 1).take_while(|wanted| wanted.in_bulk).count() + 1;
        let (now, later) = rest.split_at(bulk.min(rest.len()));
        let wait_ms = first.at_ms.saturating_sub(world.clock.elapsed_ms());
        world.clock.sleep(Duration::from_millis(wait_ms)).await;
        submit(&world, now.to_vec()).await;
        rest = later;
    }
}

pub(crate) async fn submit(world: &Arc<World>, mut wanted: Vec<Wanted>) {
    for _ in 0..TRIES_MAX {
        let answers = ask(world, &wanted).await;
        let mut again = Vec::new();
        for (wanted, answer) in wanted.into_iter().zip(answers) {
            if hears(world, &wanted, answer) == Then::Repeat {
                again.push(wanted);
            }
        }
        if again.is_empty() || world.is_ending() {
            return;
        }
        wanted = again;
        let pause_ms = world.dice(|dice| dice.u64(50..1_500));
        world.clock.sleep(Duration::from_millis(pause_ms)).await;
    }
}

/// `None`: the node went away, or did not answer in time.
async fn ask(world: &Arc<World>, wanted: &[Wanted]) -> Vec<Option<Result<Receipt, Error>>> {
    let Some(running) = world.when_running().await else { return vec![None; wanted.len()] };
    let calm = world.weather.is_calm();
    let submitted = async {
        match wanted {
            [single] => vec![running.engine.submit(single.request.clone()).await],
            many => running.engine.submit_many(many.iter().map(|wanted| wanted.request.clone()).collect()).await,
        }
    };
    tokio::select! {
        biased;
        answers = submitted => answers.into_iter().map(Some).collect(),
        () = running.link.died() => vec![None; wanted.len()],
        () = world.clock.sleep(ANSWER_WAIT) => {
            // Once the faults have stopped an answer comes: at worst after the body that the caller runs itself.
            if calm {
                world.violate("LIV-4", format!("wish {} hears nothing for {ANSWER_WAIT:?}", wanted[0].number));
            }
            vec![None; wanted.len()]
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Repeat,
    Done,
}

fn hears(world: &World, wanted: &Wanted, answer: Option<Result<Receipt, Error>>) -> Then {
    let mut ghost = locked(&world.ghost);
    let told = match &answer {
        Some(Ok(receipt)) => format!("job {} duplicate {}", receipt.id, receipt.duplicate),
        Some(Err(error)) => format!("{}: {error}", error.code()),
        None => "nothing".to_owned(),
    };
    ghost.trace.add(world.clock.elapsed_ms(), &format!("wish {} hears {told}", wanted.number));
    let has_key = wanted.request.biz_id.is_some();
    let wish = ghost.wishes.entry(wanted.number).or_default();
    wish.repeatable = has_key && wanted.request.unique == Unique::Live;
    let knows_nothing = matches!(wish.told, Told::NothingYet | Told::Refused);
    match answer {
        Some(Ok(receipt)) => {
            wish.told = if receipt.duplicate { Told::Unknown } else { Told::Stored };
            let (id, task, duplicate) = (receipt.id, receipt.task, receipt.duplicate);
            ghost.acks.push(Ack { id, task, wish: wanted.number, duplicate });
            Then::Done
        }
        Some(Err(Error::Refused(refused))) => {
            if knows_nothing {
                wish.told = Told::Refused;
            }
            // When the faults have stopped nobody needs to stand in a queue for ever.
            let patient = !world.weather.is_calm();
            let again = refused.code == Code::Stopping || (refused.code == Code::BacklogFull && patient);
            if again { Then::Repeat } else { Then::Done }
        }
        Some(Err(Error::Unavailable(StoreError::NotApplied { .. }))) => {
            if knows_nothing {
                wish.told = Told::Refused;
            }
            Then::Repeat
        }
        Some(Err(Error::Unavailable(StoreError::Unknown { .. }))) | None => {
            wish.told = Told::Unknown;
            if has_key { Then::Repeat } else { Then::Done }
        }
    }
}
