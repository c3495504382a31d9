import Store
import TrackerCore

extension TrackerDesk {
    /// What the light of this bottle is to be told; `nil` where it shows it already, and where the bottle is not the
    /// store's own.
    package func light(ofBottle bottle: String) throws -> BottleLight? {
        // One that a person has let go a moment ago is told nothing.
        guard try store.isOwn(bottle) else { return nil }
        return try changedLight(of: bottle, try store.look(context))
    }

    /// The bottle was told.
    package func noteLight(_ light: BottleLight, ofBottle bottle: String) throws {
        try store.noteLight(light, ofBottle: bottle)
    }

    /// The store's own bottles whose light is not as it is to be, and worth a poll for that alone: in quiet hours it
    /// waits for the next one.
    package func lightsDue() throws -> [String: BottleLight] {
        let evaluation = try store.look(context)
        guard !evaluation.snapshot.isQuiet else { return [:] }
        return try store.bottles().filter(\.isOwn).reduce(into: [:]) {
            $0[$1.name] = try changedLight(of: $1.name, evaluation)
        }
    }

    private func changedLight(of bottle: String, _ evaluation: Evaluation) throws -> BottleLight? {
        let settings = try store.ownSettings(ofBottle: bottle) ?? store.settings().bottle
        let wanted = evaluation.light(by: settings)
        return try wanted == store.light(ofBottle: bottle) ? nil : wanted
    }
}
