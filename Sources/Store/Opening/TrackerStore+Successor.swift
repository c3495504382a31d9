import GRDB

extension TrackerStore {
    /// Whether another store lies where this one did when it was opened, and is whole.
    public func hasSuccessor() -> Bool {
        guard !isInPlace, let next = try? TrackerStore(path: path, for: .looking), next.found != .nothing else {
            return false
        }
        return (try? next.integrityProblems())?.isEmpty == true
    }

    /// To be called as soon as another file lies in the place of this one's: brings what stands in this one's log into
    /// it, wherever it is now. Where only the file was replaced, its log lies beside the other one, which would read it
    /// as its own: it is taken away. Whatever lies there then, this one is over.
    public func settleLog() {
        guard let place, !isInPlace, FileIdentity(path) != nil else { return }
        // While others read it it stays: it is tried again.
        guard (try? database.writeWithoutTransaction({ db in try db.checkpoint(.truncate) })) != nil else { return }
        place.giveUp(path)
    }
}
