import BottleProtocol
import Bluetooth
import TrackerCore

// The steps of a connection. Each has a time limit. An optional step that fails causes a warning only.
extension Poll {
    mutating func startNextStep(_ session: Session) throws {
        var session = session
        guard !session.steps.isEmpty else { return finishSession(session) }
        let step = session.steps.removeFirst()
        switch step {
        case .log:
            reportProgress(.polling)
            try read(session)
        case .snapshot:
            reportProgress(.polling)
            start(.snapshot, step, session)
        case .clock:
            guard let command = clockCommand else { return try startNextStep(session) }
            warnOfDrift()
            start(command, step, session)
        case .goal:
            guard let command = goalCommand else { return try startNextStep(session) }
            start(command, step, session)
        case .todayAmount:
            let total = attempt("Reading today's total failed", display.todayTotal)
            guard let total, let command = amountCommand(total) else { return try startNextStep(session) }
            report.snapshot?.amountMl = total
            start(command, .set(command), session)
        case .light:
            let (display, bottle) = (display, bottle)
            if let light = attempt("Reading the bottle's light failed", { try display.light(bottle) }) {
                let commands = light.commands
                session.steps = commands.enumerated().map { index, command in
                    .set(command, shows: index == commands.count - 1 ? light : nil)
                }
            }
            try startNextStep(session)
        case .set(let command, _), .send(let command): start(command, step, session)
        }
    }

    private mutating func start(_ command: HostCommand, _ step: Session.Step, _ session: Session) {
        let awaitsAnyResponse =
            switch step {
            case .send, .set(_, shows: .some): true
            default: false
            }
        let exchange = Exchange(command, limits: limits, awaitsAnyResponse: awaitsAnyResponse, at: now)
        var session = session
        session.assembler.expectResponse()
        state = .connected(session, .commanding(step, exchange))
        write(command.encoded)
    }

    /// Reads a value to display. An error is reported as a warning and does not fail the poll.
    private mutating func attempt<Value>(_ failedAction: String, _ read: () throws -> Value?) -> Value? {
        do {
            return try read()
        } catch {
            addDiagnostic(.warning, "\(failedAction): \(error)")
            return nil
        }
    }

    // MARK: - Responses of the link

    mutating func write(_ bytes: [UInt8]) {
        guard let pair = state.session?.pair else { return }
        state.session?.pendingWrites += 1
        let withResponse = pair.command.properties.contains(.write)
        perform(.write(handle: pair.command.handle, value: bytes, withResponse: withResponse))
    }

    mutating func processResponse(_ event: CentralEvent) throws {
        switch event {
        case .wrote:
            guard let session = completeWrite(), session.pendingWrites == 0 else { return }
            try writeCompleted(session)
        case .writeFailed(_, let error):
            guard let session = completeWrite(), error.code != .disconnected else { return }
            try writeFailed(error, session)
        case .read(let handle, let value) where handle == state.session?.pair?.response.handle:
            try fetched(value)
        case .readFailed(_, let error):
            guard case .fetching? = state.reader?.stage, error.code != .disconnected else { return }
            try requestFailed(error, rejecting: "reads of its readable response characteristic")
        default: break
        }
    }

    /// Records the end of the oldest write. The link completes writes in order.
    private mutating func completeWrite() -> Session? {
        guard let session = state.session else { return nil }
        state.session?.pendingWrites = max(0, session.pendingWrites - 1)
        return state.session
    }

    private mutating func writeCompleted(_ session: Session) throws {
        switch state.activity {
        case .commanding(let step, var exchange):
            exchange.writeCompleted(at: now)
            state.activity = .commanding(step, exchange)
        case .reading: updateReader { $0.requestWritten(at: $1) }
        case .acknowledging: try readAgain(session)
        case .opening, nil: break
        }
    }

    private mutating func writeFailed(_ error: LinkError, _ session: Session) throws {
        switch state.activity {
        case .acknowledging: return try acknowledgementRefused(session)
        case .commanding(let step, let exchange):
            if switchWriteKind(error, session) { return write(exchange.command.encoded) }
            if case .send(let command) = step {
                report.responses.append(CommandResponse(command: command, sent: false))
            } else {
                addDiagnostic(
                    .warning, "The bottle rejected the request to \(exchange.command.meaning): \(error.sentence)")
            }
            var session = session
            session.steps.removeAll { if case .set = $0 { true } else { false } }
            return try startNextStep(session)
        case .reading(let reader):
            if switchWriteKind(error, session) { return write(reader.logRequest.encoded) }
        case .opening, nil: break
        }
        try requestFailed(error, rejecting: "writes to its writable command characteristic")
    }

    /// Handles the failure of a required request. Only a rejection is permanent.
    private mutating func requestFailed(_ error: LinkError, rejecting operation: String) throws {
        guard error.code == .refused else { return try disconnectAndRecover(error) }
        try storeInterruptedReading()
        giveUp(
            PollFailure(
                .unexpectedResponse, "the bottle rejects \(operation): \(error.sentence)", linkError: .refused))
    }

    /// Switches to the other kind of write: a bottle can declare both kinds and reject one of them.
    private mutating func switchWriteKind(_ error: LinkError, _ session: Session) -> Bool {
        guard error.code == .refused,
            session.pair?.command.properties.isSuperset(of: [.write, .writeWithoutResponse]) == true
        else { return false }
        state.session?.pair?.command.properties.remove(.write)
        return true
    }

    // MARK: - Responses of the bottle

    mutating func checkExchangeDeadline(_ session: Session, _ step: Session.Step, _ exchange: Exchange) throws {
        var exchange = exchange
        switch exchange.tick(at: now) {
        case .repeatCommand:
            state.activity = .commanding(step, exchange)
            write(exchange.command.encoded)
        case .silentLink:
            if session.isAfterLog {
                addDiagnostic(.warning, "The bottle did not respond to the display command.")
            }
            try disconnectAndRecover(silence(exchange.command.meaning))
        case .over:
            if exchange.expectsResponse, !step.isSend {
                addDiagnostic(
                    .warning,
                    """
                    The bottle did not respond to the request to \(exchange.command.meaning) \
                    (sent \(counted(exchange.transmissions, "time"))).
                    """)
            }
            try complete(exchange, step, session, with: exchange.unconfirmedFrame)
        }
    }

    private mutating func complete(
        _ exchange: Exchange, _ step: Session.Step, _ session: Session, with frame: Frame?
    ) throws {
        switch step {
        case .send(let command): report.responses.append(CommandResponse(command: command, frame: frame, sent: true))
        case .set(_, shows: let light?): emit(.lightWritten(bottle: bottle, light))
        case .goal: recordGoal(exchange.command, response: frame)
        case .snapshot, .log, .clock, .todayAmount, .light, .set: break
        }
        try startNextStep(session)
    }

    /// Handles a complete frame that is not part of a log.
    mutating func process(_ frame: Frame) throws {
        guard let message = try? BottleMessage(decoding: frame) else {
            return try quarantine(frame.encoded, "a response that is not a sequence of entries")
        }
        if frame.operation == .report { emit(.bottleReported) }
        recordValues(of: message)
        switch (state, message) {
        case (.connected(let session, .commanding(let step, var exchange)), _):
            if exchange.waitsForButton(message, frame, at: now) {
                state.activity = .commanding(step, exchange)
                addDiagnostic(.warning, "Press the button on the bottle within \(limits.button.components.seconds) s.")
            } else if exchange.isAnswered(by: message, frame) {
                try complete(exchange, step, session, with: frame)
            }
        case (.connected(_, .reading), .logFollows), (.connected(_, .reading), .logEmpty):
            try execute(updateReader { $0.status(follows: message == .logFollows, at: $1) })
        case (_, .logFollows), (_, .logEmpty): state.session?.log.expectsStaleData = true
        default: break
        }
    }
}

extension Session.Step {
    fileprivate var isSend: Bool { if case .send = self { true } else { false } }
}

extension BottleLight {
    /// The commands that show the light: gentle is steady amber, strong is breathing red with a flash.
    fileprivate var commands: [HostCommand] {
        switch self {
        case .off: [.light(ReminderLight(mode: 0, red: 0, green: 0, blue: 0))]
        case .gentle: [.light(ReminderLight(mode: 2, red: 0xFF, green: 0xB3, blue: 0))]
        case .strong: [.light(ReminderLight(mode: 1, red: 0xE5, green: 0x39, blue: 0x35)), .flash]
        }
    }
}
