import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Gateway
import Store
import TrackerCore
import TrackerService

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send one command to the bottle", discussion: "Commands: " + BottleCommandParser.help)

    @OptionGroup var link: LinkOptions

    @OptionGroup var location: LocationOptions

    @Option(
        help: ArgumentHelp(
            """
            Time zone of the bottle's clock (default: the setting bottle.timeZone, else $WATERH_ZONE, else \
            waterh.toml, else the setting day.zone, else the system's)
            """,
            valueName: "zone"))
    var zone: String?

    @Flag(help: "Print one JSON object")
    var json = false

    @Argument(
        help: "Command and its values, see above",
        completion: .list(["goal", "clock", "reminder", "light", "flash", "amount", "recalibrate", "raw"]))
    var command: [String]

    func run() async throws {
        let (file, storeLocation) = try location.load()
        let link = link.filled(from: file)
        // --zone is the zone of the clock command. The default is the zone of the bottle's clock in polls.
        let zone =
            try zone.map { try StoreProvider.choice($0).host }
            ?? StoreProvider.zones(file.zone(flag: nil), storeLocation).bottle
        let command = try BottleCommandParser.command(command, zone: zone, now: Machine.now())
        var options = PollOptions(zone: zone)
        options.job = .send([command])
        if command == .register { options.limits.poll += options.limits.button }
        options.ownBottles = Adoption.adoptedBottles(storeLocation)
        options.select(link.selectedBottle, file)
        // A capture can be of any bottle, so the ownership check does not apply.
        if case .capture = try link.name { options.markAsReplay() }
        options.allowPowerCycle = link.allowPowerCycle
        if try options.bottle == nil && options.ownBottles.isEmpty && link.name.hasNeighbours {
            throw Adoption.missing(link: self.link.link)
        }
        let central = try link.open()
        let printer = PollProgressPrinter(verbose: link.verbose)
        var callbacks = GatewayDriver.Callbacks()
        callbacks.diagnostic = { printer.show($0) }
        callbacks.progress = { printer.show($0) }
        let driver = GatewayDriver(link: central, clock: .system(wall: { Machine.now() }))
        let report = try await Interruptible.run { [options, callbacks] in
            await driver.poll(options, callbacks: callbacks)
        }
        await driver.close()
        printer.clear()
        let units = (try? storeLocation.open(for: .reading).settings().amountUnits) ?? file.units ?? .ml
        for response in report.responses {
            TextOutput.standard.line(json ? Self.object(response, report).text : Self.text(response, in: units))
        }
        let advice = try report.failure.flatMap { try Self.advice($0.kind, link.name) }
        if var failure = report.commandFailure(besideServiceOf: storeLocation.path, advice: advice) {
            if report.failure?.kind == .interrupted { failure.sentence = "The command was stopped." }
            throw failure
        }
        if let response = report.responses.first, !response.sent {
            throw CommandFailure(
                .failed, "The bottle rejected the write.",
                advice: "Is it a WaterH bottle? Try waterh-gateway poll --verbose.")
        }
        if let response = report.responses.first, let registration = Registration(response), !registration.isDone {
            throw CommandFailure(
                .failed, registration.sentence,
                advice: "Send it again, and press the bottle's button when the command asks for it.")
        }
    }

    /// Replaces advice about drinks, because `send` stores none.
    private static func advice(_ kind: PollFailure.Kind, _ link: LinkName) -> String? {
        switch (kind, link) {
        case (.interrupted, _): "The bottle might not have received it: send it again."
        case (_, .capture): nil
        case (.connectionLost, _), (.didNotAnswer, _): "Make sure that the bottle is near and awake, and send it again."
        default: nil
        }
    }

    private struct Registration {
        let isDone: Bool
        let sentence: String

        init?(_ response: CommandResponse) {
            guard response.command == .register, let frame = response.frame, let entries = try? frame.entries(),
                let code = entries.first(where: { $0.type == .registration })?.byte.map(
                    RegistrationCode.init(rawValue:))
            else { return nil }
            switch code {
            case .confirmed: (isDone, sentence) = (true, "confirmed on the bottle")
            case .cleared: (isDone, sentence) = (true, "registered; the bottle cleared its log")
            case .failed: (isDone, sentence) = (false, "The bottle reported that the registration failed.")
            case .pressButton: (isDone, sentence) = (false, "The bottle's button was not pressed in time.")
            default: return nil
            }
        }
    }

    private static func object(_ response: CommandResponse, _ report: PollReport) -> JSONValue {
        [
            "bottle": JSONValue(report.bottle), "command": .string(hexText(response.command.encoded)),
            "meaning": .string(meaning(response)),
            "sent": .bool(response.sent), "answer": JSONValue(response.frame.map { hexText($0.encoded) }),
        ]
    }

    /// The response of the bottle as text.
    static func text(_ response: CommandResponse, in units: AmountUnits = .ml) -> String {
        let outcome =
            response.frame.map { "answer: \(hexText($0.encoded))" }
            ?? (response.sent ? "sent; no response (some commands have none)" : "not sent")
        return """
            \(meaning(response, in: units)): \
            \(outcome)\(Registration(response).map { $0.isDone ? " (\($0.sentence))" : "" } ?? "")
            """
    }

    /// The meaning of the command, with amounts in the user's units.
    private static func meaning(_ response: CommandResponse, in units: AmountUnits = .ml) -> String {
        switch HostCommand(decoding: response.command.encoded) {
        case .goal(let ml) where units != .ml: "set the goal to \(units.text(Int(ml))) (\(ml) ml)"
        case .amount(let ml) where units != .ml: "show \(units.text(Int(ml))) (\(ml) ml) as today's amount"
        case let command: command.meaning
        }
    }
}
