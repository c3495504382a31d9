import BottleProtocol
import Bluetooth
import TrackerCore

// Reads the log until enough readings agree, stores the records and acknowledges them.
extension Poll {
    /// Starts a reading of the log.
    mutating func read(_ session: Session) throws {
        var session = session
        guard let pair = session.pair else { return }
        session.log.readings += 1
        var reader = LogReader(
            pair: pair, isQuiet: !session.log.expectsStaleData, anomalies: session.log.anomalies,
            hasRadio: hasRadio, limits: limits, at: now)
        session.log.expectsStaleData = false
        arrival.inReading = .zero
        let action = reader.begin(at: now)
        state = .connected(session, .reading(reader))
        try execute(action)
    }

    /// Passes an event to the current reading of the log, if there is one.
    @discardableResult
    mutating func updateReader<Result>(_ change: (inout LogReader, MonotonicInstant) -> Result) -> Result? {
        guard var reader = state.reader else { return nil }
        let result = change(&reader, now)
        state.activity = .reading(reader)
        return result
    }

    mutating func execute(_ action: LogReader.Action?) throws {
        guard case .connected(let session, .reading(let reader)) = state, let action else { return }
        switch action {
        case .none: break
        case .request:
            try flushAssembler()
            arrival.last = now
            write(reader.logRequest.encoded)
        case .fetch:
            if let pair = session.pair { perform(.read(handle: pair.response.handle)) }
        case .done:
            try flushAssembler()
            if case .connected(let session, .reading(let reader)) = state { try finishReading(session, reader) }
        case .silent: try disconnectAndRecover(silence("read the log"))
        }
    }

    // MARK: - Values

    /// Handles a notification from the response characteristic. Empty values are ignored.
    mutating func receive(_ value: [UInt8]) throws {
        guard let session = state.session, !value.isEmpty else { return }
        notificationCount += 1
        guard notificationCount + unreadableCount <= limits.notifications else {
            try storeInterruptedReading()
            return giveUp(
                PollFailure(
                    .unexpectedResponse, "the bottle sent more than \(limits.notifications) notifications in one poll.",
                    code: "tooManyNotifications"))
        }
        recordTruncation(value, session)
        let before = session.assembler.progress?.received
        var assembler = session.assembler
        let events = assembler.receive(value)
        state.session?.assembler = assembler
        for event in events { try process(event, isSingle: before == nil) }
        guard let progress = state.session?.assembler.progress, progress.received != before, state.reader != nil
        else { return }
        recordArrivalTime()
        updateReader { $0.progress(at: $1) }
        reportProgress(.polling, PollProgress.Transfer(received: progress.received, announced: progress.expected))
    }

    private mutating func recordArrivalTime() {
        if let last = arrival.last {
            arrival.inReading += last.duration(to: now)
            arrival.total += last.duration(to: now)
        }
        arrival.last = now
    }

    /// Records that a value fills a small MTU, so that it might be truncated.
    private mutating func recordTruncation(_ value: [UInt8], _ session: Session) {
        guard session.mtu < Self.logMTU, value.count == session.mtu - 3 else { return }
        // Lost values might be truncated as well, so no reading of this connection is reliable.
        guard session.log.truncatedLength == nil else { return }
        state.session?.log.truncatedLength = session.mtu - 3
        addDiagnostic(
            .warning,
            """
            The connection's MTU is \(session.mtu): notifications are truncated to \(session.mtu - 3) bytes. A log \
            needs an MTU of \(Self.logMTU). Truncated records are not acknowledged.
            """)
    }

    /// The MTU for a full log notification: 110 bytes, and 3 bytes of ATT header.
    static let logMTU = 113

    private mutating func process(_ event: AssemblyEvent, isSingle: Bool) throws {
        switch event {
        case .message(let frame):
            try adopt()
            try process(frame)
        case .log(let transfer):
            try adopt()
            guard state.reader != nil else {
                state.session?.log.expectsStaleData = true
                return addDiagnostic(.info, "Unsolicited log records were ignored; they are read on request.")
            }
            recordArrivalTime()
            try execute(updateReader { $0.frame(transfer, isSingle: isSingle, at: $1) })
        case .unfinished(let transfer, let reason):
            if transfer.count > 0 { try adopt() }
            recordAnomaly("a log frame is incomplete")
            addDiagnostic(.info, "A log transfer is incomplete: \(reason).")
            try quarantine(transfer.payload, reason.description)
        case .malformed(let bytes, let reason):
            recordAnomaly("unreadable bytes arrived within the log")
            try quarantine(bytes, reason.description)
        case .repeated: break
        }
    }

    private mutating func recordAnomaly(_ reason: String) {
        if state.reader == nil { state.session?.log.expectsStaleData = true }
        updateReader { reader, _ in reader.recordAnomaly(reason) }
    }

    /// Removes an incomplete frame from the assembler and stores its records.
    private mutating func flushAssembler() throws {
        guard var assembler = state.session?.assembler else { return }
        let events = assembler.finish()
        state.session?.assembler = assembler
        for event in events { try process(event, isSingle: false) }
    }

    mutating func fetched(_ value: [UInt8]) throws {
        guard case .fetching? = state.reader?.stage else { return }
        var assembler = LogAssembler()
        var transfers: [LogTransfer] = []
        for event in assembler.receive(value) + assembler.finish() {
            switch event {
            case .log(let transfer): transfers.append(transfer)
            default: try process(event, isSingle: false)
            }
        }
        if !transfers.isEmpty || value.isEmpty { try adopt() }
        recordArrivalTime()
        try execute(updateReader { $0.fetched(value, transfers, at: $1) })
    }

    mutating func quarantine(_ bytes: [UInt8], _ reason: String) throws {
        unreadableCount += 1
        if unreadableCount <= 3 { addDiagnostic(.warning, "Unreadable bytes were quarantined: \(reason).") }
        guard report.identity != nil else { return }
        report.undecodable += 1
        guard report.undecodable <= limits.undecodable else { return }
        try context?.journal.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: wall)
    }

    // MARK: - Readings

    private mutating func finishReading(_ session: Session, _ reader: LogReader) throws {
        var session = session
        session.log.last = (reader.requestedAt.duration(to: now), arrival.inReading)
        let records = reader.records
        checkClock(by: records)
        if reader.ending == .unanswered { return try finishUnanswered(session) }
        if let anomaly = reader.anomaly ?? contradiction(records, reader, session) {
            return try finishAnomalous(session, reader, anomaly)
        }
        session.log.readingsNeeded = max(session.log.readingsNeeded, reader.readingsNeeded)
        guard session.log.agreement.add(records) else {
            return try finishAnomalous(session, reader, "two readings of it differ")
        }
        session.log.latest = records
        session.log.firstFrame = reader.firstFrame
        let hasUndeleted = verify(records)
        storedBottle.largestReading = max(
            storedBottle.largestReading, session.log.agreement.size(of: session.log.readingsNeeded) ?? 0)
        let agreedCount = session.log.agreement.agreedCount(of: session.log.readingsNeeded)
        let agreedRecords = Set(records.prefix(agreedCount))
        try store(records.filter { !reader.splitRecords.contains($0) || agreedRecords.contains($0) })
        try acknowledgeOrReadAgain(session, reader, records, hasUndeleted: hasUndeleted)
    }

    /// Returns the reason why a whole reading is unreliable; `nil` if it is reliable. Only an acknowledgement empties a
    /// log, and a bottle that sends status frames sends one in each response.
    private func contradiction(_ records: [DrinkRecord], _ reader: LogReader, _ session: Session) -> String? {
        if let truncatedLength = session.log.truncatedLength {
            return "values were truncated to \(truncatedLength) bytes"
        }
        if reader.firstFrame == .frame, session.log.firstFrame == .status {
            return "the beginning of the log is missing"
        }
        let left = Set(session.log.latest ?? []).subtracting(unverified)
        return records.isEmpty && !left.isEmpty ? "the bottle reported an empty log, although records are left" : nil
    }

    /// Stores the records of whole frames, discards earlier readings, and requests the log again.
    private mutating func finishAnomalous(_ session: Session, _ reader: LogReader, _ anomaly: String) throws {
        var session = session
        session.log.agreement.discard()
        session.log.anomalies += 1
        session.log.expectsStaleData = true
        try store(reader.records.filter { !reader.splitRecords.contains($0) })
        guard session.log.anomalies < limits.anomalies else { return try finishLog(session, note: anomaly) }
        try readAgain(session, note: anomaly)
    }

    /// Reads the log again if there is time.
    mutating func readAgain(_ session: Session, note: String? = nil) throws {
        guard stored.count < limits.records else {
            return try finishLog(
                session,
                note: "\(counted(stored.count, "record")) arrived, the limit of one poll: the next poll continues"
            )
        }
        guard session.log.readings < limits.logRequests else {
            return try finishLog(session, note: note ?? "too few readings agreed, so it was not acknowledged")
        }
        let quiet = session.log.expectsStaleData ? limits.quietPeriod : .zero
        let last = session.log.last
        guard now.advanced(by: quiet + last.took - last.arrival) < end, arrival.total + last.arrival < limits.arrival
        else {
            return try finishLog(
                session,
                note: note ?? """
                    it is complete and stored; the next poll reads it again and acknowledges it
                    """)
        }
        try read(session)
    }

    /// Checks by a whole reading whether the bottle has deleted the acknowledged records.
    /// - Returns: whether some are left.
    private mutating func verify(_ records: [DrinkRecord]) -> Bool {
        let present = Set(records)
        acknowledged.subtract(present)
        let hasUndeleted = unverified.contains(where: present.contains)
        acknowledged.formUnion(unverified.filter { !present.contains($0) })
        unverified = []
        return hasUndeleted
    }

    /// Acknowledges the certain records of the last reading, reads the log again, or ends the log.
    /// - Parameter hasUndeleted: whether the bottle has kept acknowledged records.
    private mutating func acknowledgeOrReadAgain(
        _ session: Session, _ reader: LogReader, _ records: [DrinkRecord], hasUndeleted: Bool
    ) throws {
        if records.isEmpty {
            // The empty frame of a draft bottle can be the end of a log whose frames were lost.
            let needed = session.pair?.profile == .draft && reader.usesNotifications ? 2 : 1
            return session.log.agreement.count < needed ? try readAgain(session) : try finishLog(session)
        }
        let isStored = stored.isSuperset(of: records)
        if options.keepsLog, isStored { return try finishLog(session) }
        if case .untrusted(let sentence) = clockTrust { return try finishLog(session, note: sentence) }
        if reader.ending == .repeatedPacket {
            return try finishLog(
                session,
                note: """
                    the bottle returned one packet and did not report the end of its log, so nothing was \
                    acknowledged
                    """)
        }
        guard !hasUndeleted else {
            return try finishLog(session, note: "the bottle rejects acknowledgements and keeps its log")
        }
        let drinks = 1 + Int(clamping: max(0, reader.requestedAt.duration(to: now).components.seconds))
        let agreedCount = session.log.agreement.acknowledgeable(
            of: session.log.readingsNeeded, drinks: drinks, ring: storedBottle.largestReading)
        let count = min(agreedCount, records.prefix { stored.contains($0) }.count, Int(UInt16.max) / DrinkRecord.size)
        guard count > 0, !session.log.expectsStaleData, !options.keepsLog else { return try readAgain(session) }
        try acknowledge(Array(records.prefix(count)), session)
    }

    // MARK: - Acknowledgement

    /// Acknowledges the records. Appends them to the journal again first, because the store can have changed.
    private mutating func acknowledge(_ records: [DrinkRecord], _ session: Session) throws {
        guard let journal = context?.journal else { return }
        if hasResponded, try !journal.isOwn(bottle) { throw ReleasedBottle(bottle) }
        _ = try journal.append(entries(records))
        var session = session
        session.log.agreement.discard()
        unverified = records
        state = .connected(session, .acknowledging(until: now.advanced(by: limits.request)))
        write(HostCommand.acknowledge(bytes: UInt16(records.count * DrinkRecord.size)).encoded)
    }

    mutating func acknowledgementRefused(_ session: Session) throws {
        unverified = []
        try finishLog(session, note: "the bottle rejected the acknowledgement and keeps its log")
    }

    // MARK: - Storing

    private func entries(_ records: [DrinkRecord]) -> [JournalEntry] {
        var dates = RecordDates(
            bottle: bottle, options: options, received: wall, stored: storedBottle, trust: clockTrust)
        return records.map { dates.entry($0.raw) }
    }

    private mutating func store(_ records: [DrinkRecord]) throws {
        let new = zip(records, entries(records)).filter { !stored.contains($0.0) }
        guard !new.isEmpty, let journal = context?.journal else { return }
        report.received += new.count
        reportProgress(.storing)
        let entries = new.map(\.1)
        let outcomes = try journal.append(entries)
        stored.formUnion(new.map(\.0))
        if options.job == .inspect { report.records += entries }
        for (entry, outcome) in zip(entries, outcomes) {
            if outcome.isNew { report.new += 1 } else { report.duplicates += 1 }
            // A record that is already stored keeps its date.
            if case .quarantined = entry.verdict, outcome != .duplicate { report.suspect += 1 }
        }
        emit(.journaled(entries, outcomes))
        warnOfWideAmounts(new.map(\.0))
    }

    /// Warns if byte 6 is not zero in a dialect that reads the amount from one byte, which is then too small.
    private mutating func warnOfWideAmounts(_ records: [DrinkRecord]) {
        guard (options.amountWidth ?? AmountWidth(options.dialect)) == .u8 else { return }
        let wide = records.count { $0.amountMl > 255 }
        guard wide > 0 else { return }
        addDiagnostic(
            .warning,
            """
            \(counted(wide, "record")) of more than 255 ml: byte 6 is not 0, but the setting \
            bottle.amountWidth reads only byte 7.
            """,
            code: "separatorNotZero")
    }

    /// Stores the records of an interrupted reading.
    mutating func storeInterruptedReading() throws {
        guard state.reader != nil else { return }
        try flushAssembler()
        guard let reader = state.reader else { return }
        let records = reader.records.filter { !reader.splitRecords.contains($0) }
        checkClock(by: records)
        try store(records)
    }

    /// Checks the host's clock by the newest record. An empty log has no time.
    private mutating func checkClock(by records: [DrinkRecord]) {
        guard !records.isEmpty || !clockTrust.isTrusted else { return }
        let dates = RecordDates(bottle: bottle, options: options, received: wall, trust: .plausible)
        clockTrust = ClockTrust(
            host: wall, zone: options.zone, isSynchronised: options.isClockSynchronised, released: options.releaseDate,
            drift: report.clockDriftSeconds, newest: records.compactMap { dates.time($0.raw) }.max())
    }

    // MARK: - The end of the log

    /// Ends the reading of the log, and adds its results to the report.
    /// - Parameter note: the reason why the log is incomplete; `nil` if it is complete.
    private mutating func finishLog(_ session: Session, note: String? = nil) throws {
        var session = session
        session.log.isDone = true
        let isLimited = stored.count >= limits.records
        report.complete = session.log.latest != nil && !isLimited
        if let latest = session.log.latest {
            try adopt()
            report.storedRecords = latest.count
        }
        try reviewQuarantine()
        let waiting = session.log.latest?.count { !stored.contains($0) } ?? 0
        if waiting > 0 {
            addDiagnostic(
                .warning,
                """
                About the log: \(counted(waiting, "record")) arrived in pieces and \
                \(waiting == 1 ? "stays" : "stay") in the bottle until readings of the whole log agree.
                """)
        }
        let failure = logFailure(session, note, isLimited: isLimited)
        if let note {
            let keepsAll = failure == nil && report.received > 0 && acknowledged.isEmpty && !options.keepsLog
            addDiagnostic(report.complete && !keepsAll ? .info : .warning, "About the log: \(note).")
        }
        if let failure { return giveUp(failure) }
        try startNextStep(session)
    }

    /// Decodes stored records again that have no date or were read in another dialect.
    private mutating func reviewQuarantine() throws {
        guard let journal = context?.journal, clockTrust.isTrusted else { return }
        let found = try QuarantineReview.run(journal, bottles: [bottle], options: options, now: wall)
        guard !found.isEmpty else { return }
        report.resolved += found.count { $0.outcome == .promoted }
        emit(.journaled(found.map(\.entry), found.map(\.outcome)))
    }

    private func logFailure(_ session: Session, _ note: String?, isLimited: Bool) -> PollFailure? {
        if case .untrusted(let sentence) = clockTrust, report.received > 0 {
            return PollFailure(.clockNotTrusted, sentence + ".")
        }
        guard !report.complete, !isLimited else { return nil }
        if let truncatedLength = session.log.truncatedLength {
            return PollFailure(
                .unexpectedResponse,
                """
                the connection's MTU is \(session.mtu), so the bottle's values were truncated to \(truncatedLength) \
                bytes; a log needs an MTU of \(Self.logMTU). Truncated records were not acknowledged.
                """,
                code: "smallMTU", values: ["mtu": "\(Self.logMTU)"])
        }
        if report.received == 0, unreadableCount > 0 { return notTheProtocol }
        return PollFailure(
            .didNotAnswer, "its log is incomplete: \(note ?? "it broke off").", code: "logBrokeOff")
    }

    private var notTheProtocol: PollFailure {
        PollFailure(
            .unexpectedResponse,
            "the response is not the WaterH protocol (\(unreadableCount) unreadable pieces were stored).",
            code: "notTheProtocol")
    }

    /// Ends the reading after repeated requests without a response.
    private mutating func finishUnanswered(_ session: Session) throws {
        if session.log.latest != nil {
            let note = "the bottle did not confirm the last acknowledgement"
            return try finishLog(session, note: unverified.isEmpty ? nil : note)
        }
        if pairIndex + 1 < session.pairCount {
            pairIndex += 1
            return try disconnectAndRecover(
                LinkError(
                    .timeout, "The bottle did not respond on \(session.pair?.text ?? "its characteristics").",
                    isTransient: true))
        }
        if session.isResumed {
            return try disconnectAndRecover(
                LinkError(.timeout, "The bottle did not respond on the kept connection.", isTransient: true))
        }
        if report.received == 0, unreadableCount > 0 { return giveUp(notTheProtocol) }
        giveUp(
            PollFailure(
                .didNotAnswer, "it did not respond to \(limits.transmissions) log requests.", code: "saidNothing"))
    }
}
