import BottleProtocol
import Bluetooth
import TrackerCore

/// One connection with a bottle, from discovery to the last word: the polite sync of `waterh-protocol.md` section 4, step
/// by step, waiting for answers instead of sleeping.
///
/// The steps are a list; each begins, takes events, and hands over to the next. A step that only serves comfort (name,
/// snapshot, settings, amount) gives up with a warning; the log and what it needs end the session.
struct BottleSession {
    enum Step: String, Hashable, Sendable {
        case discover, readName, readSerial, identify, recall, subscribe, snapshot, settings, askTotal, amount, log, askTotalAfter, amountAfter, send

        /// Steps without which the log can be read all the same.
        var isComfort: Bool {
            switch self {
            case .readName, .readSerial, .snapshot, .settings, .askTotal, .amount, .askTotalAfter, .amountAfter: true
            case .discover, .identify, .recall, .subscribe, .log, .send: false
            }
        }
    }

    enum End: Hashable, Sendable {
        /// All steps are through.
        case finished
        /// The link failed.
        case lost(LinkError)
        /// The talk went wrong for a reason that another connection does not mend.
        case failed(PollFailure)
        /// This is not the bottle that was meant, or no bottle at all.
        case stranger(PollFailure)
    }

    private(set) var end: End?
    private(set) var step = Step.discover
    var keeper = JournalKeeper()

    private var upcoming: [Step] = []
    private(set) var table: BottleTable?
    private var assembler = LogAssembler()
    var drain: LogDrain?
    private var exchange: CommandExchange?
    private var requestDeadline: MonotonicInstant?
    private var total: Int?
    private var commands: [HostCommand] = []
    private var junk = 0
    private var mtu: Int
    /// A notification filled a small MTU: its rest may be lost, and then the bytes after it are out of step. Whole frames
    /// prove themselves by their length; of unfinished ones the bytes are kept, not the records.
    private var isCut = false

    /// A full log notification has 110 bytes, and three of ATT's (`waterh-protocol.md` section 3, habits).
    private static let logMTU = 113

    init(mtu: Int) {
        self.mtu = mtu
    }

    /// Whether nothing is under way any more: the engine may go on after `end`.
    var isSettled: Bool { keeper.isSettled }

    /// Some of the log has arrived.
    var hasLog: Bool { (drain?.taken ?? 0) > 0 || assembler.progress != nil }

    var deadline: MonotonicInstant? {
        guard end == nil else { return nil }
        return [requestDeadline, exchange?.deadline, drain?.deadline].compactMap { $0 }.min()
    }

    // MARK: - Events

    mutating func begin(_ work: inout PollWork) {
        work.show(.connected)
        expect(.discover, &work, within: work.limits.discover)
    }

    mutating func handle(_ event: CentralEvent, _ work: inout PollWork) {
        if case .mtuChanged(let size) = event { mtu = size }
        if case .disconnected(let error) = event { return lose(error, &work) }
        if case .unavailable(let error) = event { return lose(error, &work) }
        guard end == nil else { return }
        if case .notification(let handle, let value) = event {
            if handle == table?.response { receive(value, &work) }
            return
        }
        switch step {
        case .discover: discovered(event, &work)
        case .readName, .readSerial: identityRead(event, &work)
        case .subscribe: subscribed(event, &work)
        default: requestAnswered(event, &work)
        }
        giveUpIfJournalFailed(&work)
    }

    mutating func handle(_ reply: JournalReply, _ work: inout PollWork) {
        keeper.take(reply, &work)
        guard end == nil else { return }
        if giveUpIfJournalFailed(&work) { return }
        guard keeper.isSettled else { return }
        if step == .recall { return advance(&work) }
        if drain?.phase == .settling, let actions = drain?.settled() { follow(actions, &work) }
    }

    mutating func takeTotal(_ value: Int?, _ work: inout PollWork) {
        guard end == nil, step == .askTotal || step == .askTotalAfter else { return }
        total = value
        advance(&work)
    }

    mutating func tick(_ work: inout PollWork) {
        guard end == nil else { return }
        if let due = requestDeadline, due <= work.now { return requestTimedOut(&work) }
        if let due = exchange?.deadline, due <= work.now { exchangeTick(&work) }
        if let actions = drain?.tick(at: work.now) { follow(actions, &work) }
    }

    /// The poll's time is over, or somebody wants us to stop: keeps what has arrived, acknowledges nothing more.
    mutating func stop(_ failure: PollFailure, _ work: inout PollWork) {
        guard end == nil else { return }
        keepRest(&work)
        end = .failed(failure)
    }

    // MARK: - Steps

    private mutating func advance(_ work: inout PollWork) {
        requestDeadline = nil
        exchange = nil
        guard !upcoming.isEmpty else {
            end = .finished
            return
        }
        step = upcoming.removeFirst()
        if step.isComfort, work.skipped.contains(step) { return advance(&work) }
        begin(step, &work)
    }

    private mutating func begin(_ step: Step, _ work: inout PollWork) {
        guard let table else { return }
        switch step {
        case .discover:
            break
        case .readName:
            guard let handle = table.deviceName, work.report.name == nil else { return advance(&work) }
            expect(.read(handle: handle), &work, within: work.limits.request)
        case .readSerial:
            guard let handle = table.serialNumber, work.address == nil else { return advance(&work) }
            expect(.read(handle: handle), &work, within: work.limits.request)
        case .identify:
            identify(&work)
        case .recall:
            keeper.recall(bottle: work.report.bottle ?? "", &work)
        case .subscribe:
            guard table.responseNotifies else { return advance(&work) }
            expect(.subscribe(handle: table.response), &work, within: work.limits.request)
        case .snapshot:
            work.show(.polling)
            start(.snapshot, &work)
        case .settings:
            guard let command = SettingsPlan.command(work) else { return advance(&work) }
            start(command, &work)
        case .askTotal, .askTotalAfter:
            work.emit(.askTodayTotal)
        case .amount, .amountAfter:
            let isKnown = keeper.lastPoll != nil
            guard let command = SettingsPlan.amount(total: total, after: step == .amountAfter, isKnownBottle: isKnown, work.report) else {
                return advance(&work)
            }
            work.report.snapshot?.amountMl = total
            start(command, &work)
        case .log:
            beginLog(table, &work)
        case .send:
            guard !commands.isEmpty else { return advance(&work) }
            start(commands.removeFirst(), &work)
        }
    }

    private func plan(_ table: BottleTable, _ work: PollWork) -> [Step] {
        let opening: [Step] = [.readName, .readSerial, .identify]
        if case .send = work.options.job { return opening + [.subscribe, .send] }
        let amount = work.options.managesTodayAmount
        guard table.profile == .retail else { return opening + [.recall, .subscribe, .log] }
        return opening + [.recall, .subscribe, .snapshot, .settings] + (amount ? [.askTotal, .amount] : []) + [.log]
            + (amount ? [.askTotalAfter, .amountAfter] : [])
    }

    private mutating func discovered(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .discovered(let services):
            do {
                let found = try BottleTable(services: services)
                table = found
                work.report.profile = found.profile
                if case .send(let list) = work.options.job { commands = list }
                upcoming = plan(found, work)
                advance(&work)
            } catch {
                let seen = work.report.name.map { "'\($0)'" } ?? "the peer at \(work.linkName)"
                end = .stranger(
                    PollFailure(
                        .unexpectedResponse, "\(seen) is no WaterH bottle: \(error.sentence)",
                        advice: "Name the bottle (--bottle NAME or ADDRESS), or record the connection and report it."))
            }
        case .discoveryFailed(let error):
            end = .lost(error)
        default:
            break
        }
    }

    private mutating func identityRead(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .read(_, let value):
            if step == .readName { work.report.name = BottleIdentity.name(value) }
            if step == .readSerial {
                work.report.bottle = BottleIdentity.from(serialNumber: value)
            }
            advance(&work)
        case .readFailed(_, let error):
            if error.code == .disconnected { return }
            work.say(.info, "The bottle's \(step == .readName ? "name" : "serial number") could not be read: \(error.sentence)")
            advance(&work)
        default:
            break
        }
    }

    private mutating func identify(_ work: inout PollWork) {
        if let address = work.address { work.report.bottle = address.description }
        if work.report.bottle == nil {
            let identity = BottleIdentity.standIn(name: work.report.name, link: work.linkName)
            work.report.bottle = identity
            work.say(.warning, "The bottle gives no usable serial number; its drinks are kept under '\(identity)', as long as name and link stay the same.")
        }
        if let wanted = work.options.bottle, let found = work.report.bottle {
            let selector = BottleSelector(text: wanted)
            let isWanted = found == wanted || selector.matches(address: BluetoothAddress(found), name: work.report.name)
            guard isWanted else {
                let name = work.report.name.map { " (\($0))" } ?? ""
                end = .stranger(
                    PollFailure(
                        .notFound, "the bottle at \(work.linkName) is \(found)\(name), not \(wanted).",
                        advice: "Leave --bottle out, or name this one."))
                return
            }
        }
        advance(&work)
    }

    private mutating func subscribed(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .subscribed:
            advance(&work)
        case .subscribeFailed(_, let error):
            guard error.code != .disconnected else { return }
            guard table?.responseReads == true else {
                end = .failed(
                    PollFailure(
                        .unexpectedResponse, "the response characteristic says that it notifies, and refuses the subscription: \(error.sentence)",
                        advice: RetryTable.rule(for: .refused).advice))
                return
            }
            work.say(.warning, "The response characteristic refuses the subscription (\(error.sentence)); it is read instead.")
            advance(&work)
        default:
            break
        }
    }

    // MARK: - Requests

    private mutating func expect(_ request: CentralRequest, _ work: inout PollWork, within limit: Duration) {
        requestDeadline = work.now.advanced(by: limit)
        work.perform(request)
    }

    private mutating func write(_ bytes: [UInt8], _ work: inout PollWork) {
        guard let table else { return }
        expect(.write(handle: table.command, value: bytes, withResponse: table.commandWithResponse), &work, within: work.limits.request)
    }

    private mutating func requestTimedOut(_ work: inout PollWork) {
        requestDeadline = nil
        let sentence = "The bottle did not answer within the time limit (step: \(step.rawValue))."
        if step == .readName || step == .readSerial {
            work.say(.warning, sentence)
            // The transaction may still be open: ATT allows one at a time, so this connection is spent.
            work.skipped.insert(step)
        }
        keepRest(&work)
        end = .lost(LinkError(.timeout, sentence, isTransient: true))
    }

    private mutating func requestAnswered(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .wrote:
            requestDeadline = nil
            if exchange != nil { exchange?.sent(at: work.now) }
            switch drain?.phase {
            case .asking: drain?.asked(at: work.now)
            case .acknowledging: if let actions = drain?.acknowledgementLeft() { follow(actions, &work) }
            default: break
            }
        case .writeFailed(_, let error):
            guard error.code != .disconnected else { return }
            requestDeadline = nil
            writeFailed(error, &work)
        case .read(let handle, let value) where handle == table?.response:
            requestDeadline = nil
            read(value, &work)
        case .readFailed(_, let error):
            guard error.code != .disconnected, drain?.phase == .reading else { return }
            requestDeadline = nil
            keepRest(&work)
            end = error.code == .refused
                ? .failed(PollFailure(.unexpectedResponse, "the response characteristic says that it can be read, and refuses: \(error.sentence)", advice: RetryTable.rule(for: .refused).advice))
                : .lost(error)
        default:
            break
        }
    }

    private mutating func writeFailed(_ error: LinkError, _ work: inout PollWork) {
        if error.code == .refused, table?.commandBothWays == true, table?.commandWithResponse == true, drain?.phase != .acknowledging {
            // It offers both ways and refuses one: take the other.
            table?.commandWithResponse = false
            table?.commandBothWays = false
            if let exchange { return write(exchange.command.encoded, &work) }
            if drain?.phase == .asking, let question = drain?.question { return write(question.encoded, &work) }
        }
        if drain?.phase == .acknowledging, let actions = drain?.acknowledgementRefused() { return follow(actions, &work) }
        if step.isComfort {
            work.say(.warning, "The bottle refused to \(exchange?.command.meaning ?? step.rawValue): \(error.sentence)")
            return advance(&work)
        }
        if step == .send, let command = exchange?.command {
            work.report.answers.append(CommandAnswer(command: command, sent: false))
            return next(&work)
        }
        keepRest(&work)
        end = error.code == .refused
            ? .failed(PollFailure(.unexpectedResponse, "the command characteristic refuses what it offers: \(error.sentence)", advice: RetryTable.rule(for: .refused).advice))
            : .lost(error)
    }

    // MARK: - Commands and answers

    private mutating func start(_ command: HostCommand, _ work: inout PollWork) {
        exchange = CommandExchange(command, limits: work.limits, patiently: step == .send)
        write(command.encoded, &work)
    }

    private mutating func exchangeTick(_ work: inout PollWork) {
        guard let running = exchange else { return }
        if running.mayRepeat {
            exchange?.repeated()
            return write(running.command.encoded, &work)
        }
        if running.expectsAnswer, step != .send {
            work.say(.warning, "The bottle did not answer when asked to \(running.command.meaning), \(running.sendings) times.")
        }
        complete(running, with: nil, &work)
    }

    private mutating func complete(_ running: CommandExchange, with frame: Frame?, _ work: inout PollWork) {
        guard step == .send else { return advance(&work) }
        work.report.answers.append(CommandAnswer(command: running.command, answer: frame, sent: true))
        next(&work)
    }

    private mutating func next(_ work: inout PollWork) {
        exchange = nil
        guard !commands.isEmpty else { return advance(&work) }
        start(commands.removeFirst(), &work)
    }

    private mutating func answered(_ frame: Frame, _ work: inout PollWork) {
        guard let message = try? BottleMessage(decoding: frame) else {
            unreadable(frame.encoded, "an answer that is no sequence of entries", &work)
            return
        }
        if frame.operation == .report { work.emit(.report(frame)) }
        SettingsPlan.note(message, &work)
        if let running = exchange, running.isAnswered(by: message, frame) { return complete(running, with: frame, &work) }
        switch message {
        case .logFollows: if let actions = drain?.status(follows: true, at: work.now) { follow(actions, &work) }
        case .logEmpty: if let actions = drain?.status(follows: false, at: work.now) { follow(actions, &work) }
        default: break
        }
    }

    // MARK: - The log

    private mutating func beginLog(_ table: BottleTable, _ work: inout PollWork) {
        work.show(.polling)
        drain = LogDrain(
            profile: table.profile, reads: table.responseReads, keep: work.options.keep, hasRadio: work.hasRadio, limits: work.limits)
        if let actions = drain?.begin() { follow(actions, &work) }
    }

    private mutating func receive(_ value: [UInt8], _ work: inout PollWork) {
        work.notifications += 1
        guard work.notifications + junk <= work.limits.notifications else {
            keepRest(&work)
            end = .failed(
                PollFailure(
                    .unexpectedResponse, "more than \(work.limits.notifications) notifications came in one poll.",
                    advice: "If this is a WaterH bottle, record the connection (waterh-replay record) and report it."))
            return
        }
        if !isCut, mtu < Self.logMTU, value.count == mtu - 3 {
            isCut = true
            work.say(
                .warning,
                "The connection's MTU is \(mtu): notifications end at \(mtu - 3) bytes and the rest of them is lost. A log needs \(Self.logMTU); nothing that is cut is acknowledged.")
        }
        let before = assembler.progress?.received
        take(assembler.receive(value), &work)
        guard end == nil, let progress = assembler.progress, progress.received != before else { return }
        drain?.progress(at: work.now)
        if drain != nil { work.show(.polling, PollProgress.Transfer(received: progress.received, announced: progress.expected)) }
    }

    private mutating func read(_ value: [UInt8], _ work: inout PollWork) {
        guard let drain, drain.phase == .reading else { return }
        let isPacket = value.starts(with: [0x50, 0x54])
        if !drain.isRepetition(value) {
            if isPacket || !value.isEmpty { take(assembler.receive(value) + assembler.finish(), &work) }
        }
        guard end == nil, self.drain?.phase == .reading, let actions = self.drain?.readValue(value, isPacket: isPacket) else { return }
        follow(actions, &work)
    }

    private mutating func take(_ events: [AssemblyEvent], _ work: inout PollWork) {
        for event in events where end == nil {
            switch event {
            case .message(let frame):
                answered(frame, &work)
            case .log(let transfer):
                if drain == nil { work.say(.info, "The bottle sent log records unasked; they come again when asked for.") }
                if let actions = drain?.frame(transfer.rawRecords, isAcknowledgeable: transfer.isAcknowledgeable, at: work.now) { follow(actions, &work) }
            case .unfinished(let transfer, let reason):
                drain?.loose(isCut ? [] : transfer.rawRecords)
                work.say(.info, "A log transfer broke off: \(reason).")
                if transfer.count == 0 || isCut { unreadable(transfer.payload, reason.description, &work) }
            case .repeated:
                break
            case .malformed(let bytes, let reason):
                drain?.flaw("unreadable bytes came in between")
                unreadable(bytes, reason.description, &work)
            }
        }
    }

    private mutating func unreadable(_ bytes: [UInt8], _ reason: String, _ work: inout PollWork) {
        junk += 1
        if junk <= 3 { work.say(.warning, "Bytes that could not be understood were kept apart: \(reason).") }
        keeper.quarantine(bytes, reason, bottle: work.report.bottle ?? work.linkName, &work)
    }

    private mutating func follow(_ actions: [LogDrain.Action], _ work: inout PollWork) {
        for action in actions where end == nil {
            switch action {
            case .ask:
                // What still waits for its other half never will be whole.
                take(assembler.finish(), &work)
                if let question = drain?.question { write(question.encoded, &work) }
            case .read:
                if let table { expect(.read(handle: table.response), &work, within: work.limits.request) }
            case .settle:
                settle(&work)
            case .acknowledge(let records):
                guard let count = UInt16(exactly: records * DrinkRecord.size) else { continue }
                write(HostCommand.acknowledge(bytes: count).encoded, &work)
            case .finish:
                finishLog(&work)
            }
        }
    }

    private mutating func settle(_ work: inout PollWork) {
        take(assembler.finish(), &work)
        guard let round = drain?.takeRound() else { return }
        keeper.store(round.sequence + round.loose, bottle: work.report.bottle ?? work.linkName, &work)
        if keeper.isSettled, let actions = drain?.settled() { follow(actions, &work) }
    }

    private mutating func finishLog(_ work: inout PollWork) {
        guard let drain else { return }
        work.report.acknowledged += drain.acknowledged
        work.report.complete = drain.complete
        if let note = drain.note { work.say(drain.complete ? .info : .warning, "About the log: \(note).") }
        if drain.unanswered || !drain.complete, work.report.received == 0, junk > 0 {
            end = .failed(
                PollFailure(
                    .unexpectedResponse, "what came back is not the WaterH protocol (\(junk) unreadable pieces were kept).",
                    advice: "Run waterh-gateway poll again; if it stays so, record the connection and report it."))
        } else if drain.unanswered {
            end = .failed(
                PollFailure(
                    .didNotAnswer, "it was asked for its log \(work.limits.sendings) times.",
                    advice: "Wake the bottle (lid or a shake) and poll again: nothing was lost."))
        } else {
            advance(&work)
        }
    }

    // MARK: - Ends

    private mutating func lose(_ error: LinkError?, _ work: inout PollWork) {
        guard end == nil else { return }
        keepRest(&work)
        if let drain, drain.phase == .acknowledging || drain.isVerifying, table?.profile == .draft {
            // A draft bottle that hangs up on an acknowledgement: everything was read, and it keeps its log.
            work.report.complete = true
            work.report.acknowledged += drain.acknowledged
            work.say(.info, "About the log: the bottle hung up on the acknowledgement and keeps its log.")
            end = .finished
            return
        }
        if let drain { work.report.acknowledged += drain.acknowledged }
        if step.isComfort {
            work.skipped.insert(step)
            if step == .amountAfter || step == .askTotalAfter {
                end = .finished
                return
            }
        }
        end = .lost(error ?? LinkError(.disconnected, "The bottle ended the connection.", isTransient: true))
    }

    /// Journals what has arrived and is not journaled yet. Nothing of it is acknowledged on this connection any more.
    private mutating func keepRest(_ work: inout PollWork) {
        guard let bottle = work.report.bottle, drain != nil else { return }
        take(assembler.finish(), &work)
        guard let round = drain?.takeRound() else { return }
        keeper.store(round.sequence + round.loose, bottle: bottle, &work)
    }

    @discardableResult
    private mutating func giveUpIfJournalFailed(_ work: inout PollWork) -> Bool {
        guard end == nil, let sentence = keeper.failure else { return end != nil }
        end = .failed(
            PollFailure(
                .cannotStore, sentence.hasSuffix(".") ? sentence : sentence + ".",
                advice: "Nothing was acknowledged: the bottle still has it. Mend the store and poll again."))
        return true
    }
}

extension LogTransfer {
    /// The records one by one, 13 bytes each.
    var rawRecords: [[UInt8]] {
        stride(from: 0, to: count * DrinkRecord.size, by: DrinkRecord.size).map { Array(recordBytes[$0..<($0 + DrinkRecord.size)]) }
    }
}
