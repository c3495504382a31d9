import Store
import TrackerCore

extension TrackerDesk {
    /// Logs a drink by hand.
    /// - Parameter instant: when it was drunk; `nil` means now.
    package func logDrink(_ amount: Amount, at instant: Instant? = nil) throws -> DrinkOutcome {
        try change { try outcome(store.logDrink(ml: amount.millilitres(store.settings()), at: instant, context)) }
    }

    /// Takes the last change by hand back.
    /// - Parameters:
    ///   - reach: which changes are looked at; what was done to a session is never, where sessions are none of the
    ///     caller's business.
    ///   - instant: when it was asked for, where that took its time: nothing newer is taken back.
    package func undo(_ reach: UndoReach = .everything, asOf instant: Instant? = nil) throws -> UndoOutcome {
        if reach == .session { try needWaterline() }
        let reach = reach == .everything && !seesWaterline ? .drinks : reach
        return try change { UndoOutcome(undone: try store.undo(context, reach, asOf: instant), state: try state()) }
    }

    /// Takes the last change of one drink back, by its name in our lists: what a person was told a moment ago, whoever
    /// changed something else since.
    package func undo(ofDrink name: String) throws -> UndoOutcome {
        guard name.hasPrefix("d"), let number = Int64(name.dropFirst()), number > 0 else {
            throw WrongInput(
                "notADrink", "\"\(name.prefix(64))\" is no drink of our lists, such as d12.", values: ["given": name])
        }
        return try undo(.drink(number))
    }

    /// Changes a drink (`d12`, or its key) or an entry of a session (`w7`, or its id).
    package func edit(_ name: String, _ wanted: EntryChange) throws -> EntryOutcome {
        try change {
            guard try meansLog(name) else {
                guard wanted.estimate == nil, wanted.oz == nil else {
                    throw WrongInput(
                        "noSessionEntry", "\(name) is not an entry of a session: it has an amount in ml and a time.",
                        values: ["name": name])
                }
                let time = wanted.time ?? wanted.typed.flatMap(TimeOfDay.init)
                let at = try time == nil ? wanted.typed.map(moment) ?? wanted.at : nil
                return .drink(try outcome(store.editDrink(name, ml: wanted.ml, at: at, time: time, context)))
            }
            guard wanted.ml == nil, wanted.time == nil else {
                throw WrongInput(
                    "sessionEntry", "\(name) is an entry of a session: it has standard drinks or ounces, and a time.",
                    values: ["name": name])
            }
            let log = try store.editLog(
                name, at: wanted.typed.map(moment) ?? wanted.at, estimate: wanted.estimate,
                amountOz: Self.checkedWater(wanted.oz), context)
            return .session(try latestSession(else: log.sessionID))
        }
    }

    /// Deletes a drink, which no poll brings back, or an entry of a session; a water that came from the bottle's sips
    /// is excluded.
    package func delete(_ name: String) throws -> EntryOutcome {
        try change {
            guard try meansLog(name) else { return .drink(try outcome(store.deleteDrink(name, context))) }
            try store.deleteLog(name, context)
            return .session(try latestSession())
        }
    }

    /// Deletes the drinks of the day that runs, the bottle's too; the next poll does not bring them back.
    package func resetToday() throws -> ResetOutcome {
        try change { ResetOutcome(deleted: try store.resetToday(context).map(report), state: try state()) }
    }

    /// A drink as whoever asks may see it.
    func report(_ drink: StoredDrink) -> DrinkReport { DrinkReport(drink, seesWaterline: seesWaterline) }

    // MARK: - Parts

    private func outcome(_ drink: StoredDrink) throws -> DrinkOutcome {
        DrinkOutcome(drink: report(drink), state: try state())
    }

    /// Whether a name means an entry of a session rather than a drink. What our lists show comes first; where a key of
    /// somebody else's file looks like it, that is said.
    private func meansLog(_ name: String) throws -> Bool {
        guard seesWaterline else { return false }
        let drinks = try store.drinks(named: name)
        if let shown = drinks.first, name == "d\(shown.number)" {
            for other in drinks.dropFirst() {
                remark(
                    "\(name) is also the key of another drink, d\(other.number). This is about \(name) of our lists.")
            }
            return false
        }
        return try store.hasLog(named: name)
    }
}
