import Foundation
import Gateway
import Store
package import TrackerCore

extension TrackerAPI {
    /// Writes all drinks that count, oldest first, in parts of at least 64 KiB. Includes water of sessions if the
    /// caller has access to Waterline.
    package func exportDrinks(_ format: HealthFiles.Format, to write: ([UInt8]) throws -> Void) throws -> ExportReport {
        var export = HealthExport(format)
        var bytes = Array(export.header.utf8)
        var count = 0
        try store.forEachDrink { drink, original, record in
            guard mayReadWaterline || !drink.belongsToSession else { return }
            export.append(drink, insteadOf: original, record: record, to: &bytes)
            count += 1
            guard bytes.count >= 1 << 16 else { return }
            try write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try write(bytes + Array(export.end.utf8))
        return ExportReport(drinks: count)
    }

    /// Imports the drinks of a file: all, or none. Detects the format. Known drinks add nothing.
    /// - Parameter read: passes the file's bytes to `feed`, in parts of any length.
    /// - Throws: `HealthFileError`, and the errors of `read`.
    package func importDrinks(_ read: (_ feed: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
        -> ImportReport
    {
        try change {
            var remarks: [String] = []
            let outcome = try store.importSamples(context) { add in
                try withoutActuallyEscaping(add) { add in
                    let reader = HealthReader { sample in
                        // A record with wrong fields would replace a real drink of the bottle.
                        if let contradiction = sample.record(received: now, zone: zone.id)?.contradiction(now: now) {
                            throw HealthFileError(
                                reason: "The record of \(sample.uuid ?? "") is not valid: \(contradiction).")
                        }
                        try add(sample)
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

    package func contents() throws -> ContentsReport {
        let rows = Dictionary(
            try store.rowCounts().map { ($0.table, $0.rows) }, uniquingKeysWith: { first, _ in first })
        return ContentsReport(
            drinks: rows["drink"] ?? 0, sessions: rows["session"] ?? 0, presets: rows["preset"] ?? 0,
            settings: rows["setting"] ?? 0)
    }

    /// Replaces the whole store by a backup, or changes nothing. Saves the previous content next to the store.
    /// - Parameters:
    ///   - scratch: an existing directory for temporary files.
    ///   - confirm: called after the backup was checked; its error cancels the restore.
    /// - Returns: the contents, and the backup's settings that version 0.10 no longer has.
    package func restore(
        from file: String, scratch: String, confirm: () throws -> Void = {}
    ) throws -> (ContentsReport, removedSettings: [String]) {
        try change {
            let (kept, removed) = try store.restore(from: file, scratch: scratch, keepingAt: now, confirm: confirm)
            var contents = try contents()
            contents.replaced = kept
            return (contents, removed)
        }
    }

    /// Deletes all data, first on the sync server. If the server rejects this or does not respond, nothing is deleted.
    package func purge() async throws -> PurgeReport {
        if let client = try SyncClient(store.settings()), let profile = try store.profile() {
            try await client.deleteUser(profile.userID)
        }
        return try change {
            try store.removeWrittenFiles { try store.purge() }
            ScratchFolder.removeAbandoned()
            return PurgeReport(purged: true)
        }
    }
}

extension ImportOutcome {
    fileprivate var remarks: [String] {
        func was(_ count: Int) -> String { "\(counted(count, "drink")) \(count == 1 ? "was" : "were")" }
        let source = excluded == 1 ? "its source" : "their source"
        return [
            fromBottle > 0 ? "\(was(fromBottle)) already known from the bottle." : nil,
            removed > 0 ? "\(was(removed)) removed: not in the newer export of the source." : nil,
            excluded > 0 ? "\(was(excluded)) skipped: health.excludedSources contains \(source)." : nil,
        ].compactMap(\.self)
    }
}

extension TrackerAPI {
    /// The maximum number of drinks in one response.
    package static let phoneBatchLimit = 100
    /// The maximum number of inbox files that one call imports, in the order of their names.
    private static let inboxFileLimit = 200

    /// The drinks that a phone has not yet written to its health records, oldest first (tracker spec Section 10.11).
    /// Includes water of sessions if the caller has access to Waterline.
    /// - Parameter days: the maximum age of a drink in days.
    package func drinksForPhone(days: Int) throws -> PhoneDrinks {
        guard (1...TrackerStore.longestLookBackDays).contains(days) else {
            throw WrongInput("outOfRange", "invalid days: expected 1–\(TrackerStore.longestLookBackDays)")
        }
        let since = now.advanced(seconds: -Double(days) * 86400)
        let drinks = try store.drinksMissingOnPhone(
            since: since, limit: Self.phoneBatchLimit + 1, excludingSessions: !mayReadWaterline)
        return PhoneDrinks(
            drinks: drinks.prefix(Self.phoneBatchLimit).map(PhoneDrink.init),
            hasMore: drinks.count > Self.phoneBatchLimit)
    }

    /// Records the keys of drinks that the phone has written to its health records.
    package func recordPhoneDrinks(_ keys: [String]) throws -> PhoneReceipt {
        guard (1...Self.phoneBatchLimit).contains(keys.count), keys.allSatisfy({ (1...512).contains($0.utf8.count) })
        else {
            throw WrongInput("keys", "invalid keys: expected a list of 1–\(Self.phoneBatchLimit) keys")
        }
        return try change { PhoneReceipt(noted: try store.recordPhoneDrinks(keys)) }
    }

    /// Imports new and changed files of the `health.inbox` directory (tracker spec D4).
    /// - Returns: one result per imported or rejected file; empty if the setting is not set.
    package func importInbox() throws -> [InboxReport] {
        guard let folder = try store.settings().healthInbox else { return [] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.sorted()
        } catch {
            return [
                InboxReport(
                    name: folder, trouble: "The health.inbox directory cannot be read: \(FileErrorText.text(error))")
            ]
        }
        var (reports, completed) = ([InboxReport](), 0)
        for name in names {
            guard completed < Self.inboxFileLimit, reports.count < 10 * Self.inboxFileLimit else { break }
            var attributes = stat()
            let path = "\(folder)/\(name)"
            guard lstat(path, &attributes) == 0 else {
                // A name that is not UTF-8 was converted with loss.
                if name.contains("\u{FFFD}") {
                    reports.append(
                        InboxReport(
                            name: name, trouble: "The file name is not valid UTF-8. Rename the file."))
                }
                continue
            }
            guard attributes.st_mode & S_IFMT == S_IFREG else { continue }
            let signature = "\(attributes.st_size) \(attributes.st_mtim.tv_sec).\(attributes.st_mtim.tv_nsec)"
            guard try store.inboxSignature(name) != signature else { continue }
            do {
                let report = try importDrinks { feed in try Self.read(path, feed) }
                reports.append(
                    InboxReport(name: name, added: report.added, known: report.known, remarks: report.remarks))
            } catch let error as HealthFileError {
                reports.append(InboxReport(name: name, trouble: error.sentence))
            } catch let error as Refusal {
                // Try again: this machine's clock, the file's permissions or its disk might be wrong.
                reports.append(InboxReport(name: name, trouble: error.sentence))
                continue
            }
            // A file that is still being written will change and be read again.
            try store.recordInboxFile(name, signature, present: Set(names))
            completed += 1
        }
        return reports
    }

    private static func read(_ path: String, _ feed: (UnsafeRawBufferPointer) throws -> Void) throws {
        // `O_NONBLOCK`: opening a FIFO would block.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0 { throw unreadable() }
            guard count > 0 else { return }
            try feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private static func unreadable() -> Refusal {
        Refusal("unreadableFile", String(cString: strerror(errno)))
    }
}
