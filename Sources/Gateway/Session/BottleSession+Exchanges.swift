import BottleProtocol
import Bluetooth
import TrackerCore

// Requests to the link, each with its time limit, and commands with their answers.
extension BottleSession {
    mutating func expect(_ request: CentralRequest, _ work: inout PollWork, within limit: Duration) {
        requestDeadline = work.now.advanced(by: limit)
        work.perform(request)
    }

    mutating func write(_ bytes: [UInt8], _ work: inout PollWork) {
        guard let table else { return }
        writesUnderWay += 1
        expect(
            .write(handle: table.command, value: bytes, withResponse: table.commandWithResponse), &work,
            within: work.limits.request)
    }

    mutating func requestTimedOut(_ work: inout PollWork) {
        requestDeadline = nil
        if step.isAfterLog {
            work.say(.warning, "The bottle was told what to show, and said nothing (step: \(step.rawValue)).")
            (isSilent, end) = (true, .finished)
            return
        }
        let sentence = "The bottle did not answer within the time limit (step: \(step.rawValue))."
        keepRest(&work)
        end = .lost(LinkError(.timeout, sentence, isTransient: true))
    }

    mutating func requestAnswered(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .wrote:
            writesUnderWay = max(0, writesUnderWay - 1)
            guard writesUnderWay == 0 else { return }
            requestDeadline = nil
            if exchange != nil { exchange?.sent(at: work.now) }
            switch drain?.phase {
            case .asking: drain?.asked(at: work.now)
            case .acknowledging: if let actions = drain?.acknowledgementLeft(at: work.now) { follow(actions, &work) }
            default: break
            }
        case .writeFailed(_, let error):
            writesUnderWay = max(0, writesUnderWay - 1)
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
            end =
                error.code == .refused
                ? .failed(
                    PollFailure(
                        .unexpectedResponse,
                        "the response characteristic says that it can be read, and refuses: \(error.sentence)",
                        linkError: .refused))
                : .lost(error)
        default:
            break
        }
    }

    mutating func writeFailed(_ error: LinkError, _ work: inout PollWork) {
        if error.code == .refused, table?.commandBothWays == true, table?.commandWithResponse == true,
            drain?.phase != .acknowledging
        {
            // It offers both ways and refuses one: take the other.
            table?.handles.commandWithResponse = false
            table?.handles.commandBothWays = false
            if let exchange { return write(exchange.command.encoded, &work) }
            if drain?.phase == .asking, let question = drain?.question { return write(question.encoded, &work) }
        }
        if drain?.phase == .acknowledging, let actions = drain?.acknowledgementRefused() {
            return follow(actions, &work)
        }
        if step.isComfort {
            work.say(.warning, "The bottle refused to \(exchange?.command.meaning ?? step.rawValue): \(error.sentence)")
            return advance(&work)
        }
        if step == .send, let command = exchange?.command {
            work.report.answers.append(CommandAnswer(command: command, sent: false))
            return next(&work)
        }
        keepRest(&work)
        end =
            error.code == .refused
            ? .failed(
                PollFailure(
                    .unexpectedResponse, "the command characteristic refuses what it offers: \(error.sentence)",
                    linkError: .refused))
            : .lost(error)
    }

    mutating func start(_ command: HostCommand, _ work: inout PollWork) {
        exchange = CommandExchange(command, limits: work.limits, patiently: step == .send || step == .light)
        write(command.encoded, &work)
    }

    mutating func exchangeTick(_ work: inout PollWork) {
        guard let running = exchange else { return }
        if running.mayRepeat {
            exchange?.repeated()
            return write(running.command.encoded, &work)
        }
        if running.expectsAnswer, step != .send {
            work.say(
                .warning,
                """
                The bottle did not answer when asked to \(running.command.meaning), \
                \(counted(running.sendings, "time")).
                """
            )
        }
        complete(running, with: running.interim, &work)
    }

    mutating func complete(_ running: CommandExchange, with frame: Frame?, _ work: inout PollWork) {
        switch step {
        case .send:
            work.report.answers.append(CommandAnswer(command: running.command, answer: frame, sent: true))
            next(&work)
        case .light:
            if commands.isEmpty, let light { work.emit(.lit(bottle: work.bottle, light)) }
            next(&work)
        default:
            SettingsPlan.noteGoal(running.command, answer: frame, &work)
            advance(&work)
        }
    }

    mutating func next(_ work: inout PollWork) {
        exchange = nil
        guard !commands.isEmpty else { return advance(&work) }
        start(commands.removeFirst(), &work)
    }

    mutating func answered(_ frame: Frame, _ work: inout PollWork) {
        guard let message = try? BottleMessage(decoding: frame) else {
            unreadable(frame.encoded, "an answer that is no sequence of entries", &work)
            return
        }
        if frame.operation == .report { work.emit(.report(frame)) }
        SettingsPlan.note(message, &work)
        if exchange?.waitsForButton(message, frame, at: work.now) == true {
            return work.say(
                .warning, "Press the button on the bottle: it waits for that, for at most \(work.limits.button).")
        }
        if let running = exchange, running.isAnswered(by: message, frame) {
            return complete(running, with: frame, &work)
        }
        switch message {
        case .logFollows: if let actions = drain?.status(follows: true, at: work.now) { follow(actions, &work) }
        case .logEmpty: if let actions = drain?.status(follows: false, at: work.now) { follow(actions, &work) }
        default: break
        }
    }
}
