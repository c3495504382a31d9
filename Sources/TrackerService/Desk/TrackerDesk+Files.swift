import Store
import TrackerCore

extension TrackerDesk {
    /// Writes every counted drink, oldest first, in pieces of 64 KiB or a little more. Water of sessions is in it where
    /// sessions are the caller's business.
    package func exportDrinks(_ format: HealthFiles.Format, to write: ([UInt8]) throws -> Void) throws -> ExportReport {
        var export = HealthExport(format)
        var bytes = Array(export.opening.utf8)
        var count = 0
        try store.forEachDrink { drink, original, record in
            guard seesWaterline || !drink.isOfSession else { return }
            export.append(drink, insteadOf: original, record: record, to: &bytes)
            count += 1
            guard bytes.count >= 1 << 16 else { return }
            try write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try write(bytes + Array(export.end.utf8))
        return ExportReport(drinks: count)
    }

    /// Imports the drinks of a file: all, or none. The format is recognised; what is known already adds nothing.
    /// - Parameter read: passes on the file's bytes, in pieces of any length.
    /// - Throws: `HealthFileError`, and what `read` throws.
    package func importDrinks(_ read: (_ feed: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
        -> ImportReport
    {
        try change {
            var remarks: [String] = []
            let outcome = try store.importSamples(context) { take in
                try withoutActuallyEscaping(take) { take in
                    let reader = HealthReader { sample in
                        // A record under false words would take the place of a real drink of the bottle.
                        if let lie = sample.record(received: now, zone: zone.id)?.contradiction(now: now) {
                            throw HealthFileError(reason: "The record of \(sample.uuid ?? "") is not valid: \(lie).")
                        }
                        try take(sample)
                    }
                    try read { try reader.feed($0) }
                    try reader.finish()
                    remarks = reader.remarks
                    return reader.format == .appleHealth ? reader.exportedAt ?? now : nil
                }
            }
            remarks += outcome.remarks
            return ImportReport(
                added: outcome.added, known: outcome.known, empty: outcome.empty,
                remarks: remarks.isEmpty ? nil : remarks, state: try state())
        }
    }

    /// What the store holds, in numbers.
    package func contents() throws -> ContentsReport {
        let rows = Dictionary(
            try store.rowCounts().map { ($0.table, $0.rows) }, uniquingKeysWith: { first, _ in first })
        return ContentsReport(
            drinks: rows["drink"] ?? 0, sessions: rows["session"] ?? 0, presets: rows["preset"] ?? 0,
            settings: rows["setting"] ?? 0)
    }

    /// Writes everything that the store has into a new database file, one consistent state, whoever else writes
    /// meanwhile.
    /// - Parameter file: must not exist, or be empty.
    package func backUp(to file: String) throws { try store.backUp(to: file) }

    /// Puts a backup in the place of everything that the store has: all of it, or nothing. What was there is kept in a
    /// file beside the store.
    /// - Parameter scratch: an existing folder of the caller's.
    /// - Returns: the contents, and the names of settings of the backup that 0.10 removed.
    package func restore(from file: String, scratch: String) throws -> (ContentsReport, removedSettings: [String]) {
        try change {
            let (kept, removed) = try store.restore(from: file, scratch: scratch, keepingAt: now)
            var contents = try contents()
            contents.replaced = kept
            return (contents, removed)
        }
    }

    /// Deletes everything. The sync server first: when it does not answer, nothing is deleted, and the purge can be
    /// tried again.
    package func purge() async throws -> PurgeReport {
        if let client = try SyncClient.named(by: store.settings()), let profile = try store.profile() {
            try await client.deleteUser(profile.userID)
        }
        return try change {
            try store.removeWrittenFiles { try store.purge() }
            ScratchFolder.sweep()
            return PurgeReport(purged: true)
        }
    }
}

extension ImportOutcome {
    fileprivate var remarks: [String] {
        func was(_ count: Int) -> String { "\(counted(count, "drink")) \(count == 1 ? "was" : "were")" }
        return [
            fromBottle > 0 ? "\(was(fromBottle)) already known from the bottle." : nil,
            removed > 0 ? "\(was(removed)) removed: a newer export of the source no longer has them." : nil,
            excluded > 0 ? "\(was(excluded)) left out: health.excludedSources names their source." : nil,
        ].compactMap(\.self)
    }
}
