import Store
import TrackerCore

extension ReminderLoop {
    /// Tells at once what other programs made of the day: a drink by hand, a session, a setting. Goes on until its task
    /// is cancelled.
    ///
    /// What was written by ourselves is known already; and a write that says nothing about the day, as another
    /// program's claim of a decision, moves nobody: two services would keep each other busy.
    /// - Parameter writes: one for each time that the store was written.
    package func follow(_ writes: AsyncStream<Void>) async {
        let seen = Seen()
        await DayFollower(writes: writes) {
            let desk = await self.currentDesk()
            if (try? await seen.isNews(desk)) == true { await self.poke() }
            // What time changes is the loop's own business.
            return .seconds(3600)
        }.run()
    }

    private actor Seen {
        private var mark: TrackerStore.ChangeMark?
        private var snapshot: TrackerSnapshot?

        func isNews(_ desk: TrackerDesk) throws -> Bool {
            let mark = try desk.store.changeMark()
            guard mark.others != self.mark?.others else { return false }
            let snapshot = try desk.state()
            defer { (self.mark, self.snapshot) = (mark, snapshot) }
            return self.snapshot.map { !$0.says(theSameAs: snapshot) } ?? false
        }
    }
}
