import Store
import TrackerCore

extension TrackerDesk {
    /// Writes every counted drink, oldest first, in pieces of 64 KiB or a little more. Water of sessions is in it where
    /// sessions are the caller's business.
    package func exportDrinks(_ format: HealthFiles.Format, to write: ([UInt8]) throws -> Void) throws -> ExportReport {
        var export = HealthExport(format)
        var bytes = Array(export.opening.utf8)
        var count = 0
        try store.forEachDrink { drink, original in
            guard seesWaterline || !drink.isOfSession else { return }
            export.append(drink, insteadOf: original, to: &bytes)
            count += 1
            guard bytes.count >= 1 << 16 else { return }
            try write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try write(bytes + Array(export.end.utf8))
        return ExportReport(drinks: count)
    }

    /// Takes the drinks of a file in: all, or none. The format is recognised; what is known already adds nothing.
    /// - Parameter read: hands the file's bytes over, in as many pieces as it likes.
    /// - Throws: `HealthFileError`, and what `read` throws.
    package func importDrinks(_ read: (_ feed: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
        -> ImportReport
    {
        try change {
            var remarks: [String] = []
            let outcome = try store.importSamples(context) { take in
                try withoutActuallyEscaping(take) { take in
                    let reader = HealthReader(deliver: take)
                    try read { try reader.feed($0) }
                    try reader.finish()
                    remarks = reader.remarks
                }
            }
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
