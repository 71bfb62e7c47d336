//! Tasks, their switch, calendars and requests.

use mainspring_model::task::TaskSwitch;
use mainspring_model::{Task, TaskCode, TaskDefinition, Timestamp, limits};

use super::{Data, Request};
use crate::rules;
use crate::{NextFireChange, Press, Pressed, TaskChange};

impl Data {
    pub(super) fn create_task(
        &mut self,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> TaskChange {
        if let Some(stored) = self.tasks.get(&code) {
            return TaskChange::InTheWay(stored.clone());
        }
        self.last_task_id += 1;
        let task = Task {
            id: self.last_task_id,
            code: code.clone(),
            switch,
            definition,
            next_fire_time: next_fire,
            prev_fire_time: None,
            disabled_reason: None,
            version: 1,
            create_time: now,
            update_time: now,
        };
        self.tasks.insert(code.clone(), task.clone());
        // A job that a person took up after its task was deleted is in no lane.
        self.judge_anew(&code);
        TaskChange::Written(task)
    }

    pub(super) fn declare_task(
        &mut self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> TaskChange {
        let is_new = self.declared.insert((code.clone(), definition.fingerprint()));
        match self.tasks.get(&code).cloned() {
            None => self.create_task(code, definition, TaskSwitch::Enabled, next_fire, now),
            Some(stored) if !is_new || stored.definition == definition => TaskChange::InTheWay(stored),
            Some(stored) => {
                let next_fire = rules::declared_fire(&stored, &definition, next_fire);
                self.update_task(&code, stored.version, definition, next_fire, now)
            }
        }
    }

    pub(super) fn update_task(
        &mut self,
        code: &TaskCode,
        version: i64,
        definition: TaskDefinition,
        next_fire: NextFireChange,
        now: Timestamp,
    ) -> TaskChange {
        let Some(stored) = self.tasks.get_mut(code) else { return TaskChange::Missing };
        if stored.version != version {
            return match rules::is_repeated_update(stored, version, &definition) {
                true => TaskChange::Written(stored.clone()),
                false => TaskChange::Conflict(stored.clone()),
            };
        }
        let is_same_rate = stored.definition.rate_limit == definition.rate_limit;
        (stored.definition, stored.update_time) = (definition, now);
        stored.version += 1;
        stored.next_fire_time = match next_fire {
            _ if stored.switch == TaskSwitch::Disabled => None,
            NextFireChange::Keep => stored.next_fire_time,
            NextFireChange::Set(next) => next,
        };
        let written = stored.clone();
        self.judge_anew(code);
        if !is_same_rate {
            self.forget_starts(&rules::task_scope(code));
        }
        TaskChange::Written(written)
    }

    pub(super) fn switch_task(
        &mut self,
        code: &TaskCode,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> TaskChange {
        let Some(stored) = self.tasks.get_mut(code) else { return TaskChange::Missing };
        if stored.switch != to {
            (stored.switch, stored.update_time, stored.disabled_reason) = (to, now, None);
            stored.next_fire_time = next_fire.filter(|_| to == TaskSwitch::Enabled);
            stored.version += 1;
        }
        TaskChange::Written(stored.clone())
    }

    pub(super) fn delete_task(&mut self, code: &TaskCode, version: Option<i64>) -> TaskChange {
        let Some(stored) = self.tasks.get(code).cloned() else { return TaskChange::Missing };
        if version.is_some_and(|version| version != stored.version) {
            return TaskChange::Conflict(stored);
        }
        if self.queue.values().any(|queued| queued.task == *code) {
            return TaskChange::InTheWay(stored);
        }
        self.tasks.remove(code);
        self.forget_starts(&rules::task_scope(code));
        TaskChange::Written(stored)
    }

    pub(super) fn press(&mut self, press: &Press) -> Pressed {
        let oldest = press.now.plus_ms(-limits::REQUEST_ID_KEPT_MS);
        self.requests.retain(|_, request| request.time >= oldest);
        match self.requests.get(&press.request_id) {
            Some(first) if first.operation != press.operation => {
                Pressed::OtherOperation { operation: first.operation.clone() }
            }
            Some(Request { answer: Some(answer), .. }) => Pressed::Again { answer: answer.clone() },
            Some(_) => Pressed::UnderWay,
            None => {
                let request = Request { operation: press.operation.clone(), answer: None, time: press.now };
                self.requests.insert(press.request_id.clone(), request);
                Pressed::First
            }
        }
    }

    pub(super) fn answer_press(&mut self, request_id: &str, answer: Option<String>) {
        match (self.requests.get_mut(request_id), answer) {
            (Some(request), Some(answer)) => request.answer = Some(answer),
            (Some(_), None) => drop(self.requests.remove(request_id)),
            (None, _) => {}
        }
    }
}
