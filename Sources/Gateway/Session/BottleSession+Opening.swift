import BottleProtocol
import Bluetooth
import TrackerCore

// From discovery to subscription: what the peer is, who it is, and whether it is the one meant.
extension BottleSession {
    mutating func discovered(_ event: CentralEvent, _ work: inout PollWork) {
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
                guard !work.hasRadio || work.isRediscovered else {
                    // The system keeps the tables of those it knows: after a firmware update it may have an empty or an old one.
                    work.isRediscovered = true
                    end = .lost(LinkError(.protocolViolation, "\(seen) shows no bottle's services: \(error.sentence)", isTransient: true))
                    return
                }
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

    mutating func identityRead(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .read(_, let value):
            if step == .readName { work.report.name = BottleIdentity.name(value) }
            if step == .readSerial {
                work.report.bottle = BottleIdentity.from(serialNumber: value)
            }
            advance(&work)
        case .readFailed(_, let error):
            if error.code == .disconnected { return }
            // Only a refusal is the same tomorrow; a lost answer must not change who the bottle is.
            guard error.code == .refused else {
                end = .lost(error)
                return
            }
            work.say(.info, "The bottle's \(step == .readName ? "name" : "serial number") could not be read: \(error.sentence)")
            advance(&work)
        default:
            break
        }
    }

    mutating func identify(_ work: inout PollWork) {
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
        if let alias = work.options.alias { work.report.bottle = alias }
        advance(&work)
    }

    mutating func subscribed(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .subscribed:
            isListening = true
            advance(&work)
        case .subscribeFailed(_, let error):
            guard error.code != .disconnected else { return }
            guard table?.responseReads == true else {
                end = .failed(
                    PollFailure(
                        .unexpectedResponse, "the response characteristic says that it notifies, and refuses the subscription: \(error.sentence)",
                        advice: work.advice.about(.refused)))
                return
            }
            work.say(.warning, "The response characteristic refuses the subscription (\(error.sentence)); it is read instead.")
            advance(&work)
        default:
            break
        }
    }
}
