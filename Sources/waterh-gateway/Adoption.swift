import Bluetooth
import CommandSupport
import Foundation
import Gateway
import Store
import TrackerCore
import TrackerService
import Utilities

/// Adopts a bottle on the command line: lists the bottles in range and asks the user.
enum Adoption {
    /// The bottles of a store; empty for a missing or unreadable store.
    static func adoptedBottles(_ location: StoreLocation) -> [AdoptedBottle] {
        guard let store = try? location.open(for: .reading) else { return [] }
        return (try? TrackerAPI.adoptedBottles(of: store)) ?? []
    }

    /// The error if no bottle was named or adopted, and the link can reach other persons' bottles.
    /// - Parameter link: the value of `--link`, which the advice repeats; `nil` without the option.
    static func missing(link: String?) -> CommandFailure {
        let option = link.map { " --link \(Escaping.shellWord($0))" } ?? ""
        return CommandFailure(
            .refused, "no bottle: this store has not adopted one, and a bottle in range might be another person's",
            advice: """
                waterh-gateway poll\(option) --bottle ADDRESS
                See the bottles in range with: waterh-gateway scan\(option)
                """)
    }

    /// The identities of the bottles that belong to other services on this machine.
    /// - Parameter store: the path of the caller's store.
    static func bottlesOfOtherServices(than store: String) -> Set<String> {
        struct Answer: Decodable {
            struct Bottle: Decodable { var names: [String], isOwn: Bool }
            var bottles: [Bottle]
        }
        return ServiceSocket.others(besides: store).reduce(into: []) { found, socket in
            guard let data = try? socket.get("/api/v1/bottles"),
                let answer = try? JSONDecoder().decode(Answer.self, from: data)
            else { return }
            for bottle in answer.bottles where bottle.isOwn { found.formUnion(bottle.names) }
        }
    }

    static func belongsToOther(_ identity: String) -> CommandFailure {
        CommandFailure(
            .refused, "\(identity) belongs to another gateway on this machine. Nothing was changed.",
            advice: "Release it in the store of that gateway first (adopt --release).")
    }

    // MARK: - Questions

    /// Scans, lists the bottles in range, asks the user to choose, and adopts the bottle.
    static func chooseBottle(_ driver: GatewayDriver, _ provider: StoreProvider) async throws {
        var options = try await provider.pollOptions(dialect: nil)
        options.job = .scan
        Diagnostics.line("Scanning for \(Int(options.limits.scan / .seconds(1))) s…")
        let report = try await Interruptible.run { [options] in await driver.poll(options) }
        if let failure = report.commandFailure() { throw failure }
        let others = bottlesOfOtherServices(than: provider.store.path)
        let found = BottleInRange.list(report.inRange).filter { !others.contains($0.address) }
        guard !found.isEmpty else {
            throw CommandFailure(
                .noLink, "no bottle in range",
                advice: "Wake the bottle (lid or a shake) near this computer and poll again.")
        }
        for bottle in found { TextOutput.standard.line("\(bottle.text)") }
        for bottle in found {
            let description = found.count == 1 ? "this" : bottle.text
            guard await confirm("Is \(description) your bottle?") else { continue }
            try provider.tracker().adopt(bottle.address, try await choice())
            return
        }
        throw CommandFailure(.refused, "no bottle was adopted. Nothing was read from a bottle.")
    }

    /// Asks for the bottle's mode, and whether the computer's clock is right if no time server confirms it.
    static func choice() async throws -> AdoptionChoice {
        Diagnostics.line(
            """
            Take over: the gateway empties the bottle's log, and the phone app no longer receives these drinks. \
            Share: the gateway only reads; drinks that the app fetches first are missing here.
            """)
        var choice = AdoptionChoice()
        while choice.mode == nil {
            switch try await answer("Take over or share? [t/s] ").lowercased() {
            case "t", "take over": choice.mode = .takeOver
            case "s", "share": choice.mode = .share
            default: break
            }
        }
        if await Machine.isClockSynchronised() != true {
            let (now, zone) = (Machine.now(), try Machine.zone())
            let style = Date.FormatStyle(
                locale: Locale(identifier: "en_GB"), timeZone: TimeZone(identifier: zone.id) ?? .gmt)
            let day = Date(timeIntervalSince1970: Double(now.wholeSeconds)).formatted(style.day().month(.wide))
            choice.trustsClock = await confirm(
                "This computer's clock says \(day), \(zone.wall(at: now).timeText). Is that right?")
        }
        return choice
    }

    private static func confirm(_ question: String) async -> Bool {
        let text = try? await answer("\(question) [y/N] ")
        return text.flatMap(Bool.init(answer:)) == true
    }

    /// Prints a question and reads one line of standard input.
    /// - Throws: `CommandFailure` at the end of the input, or when the command is interrupted.
    private static func answer(_ question: String) async throws -> String {
        TextOutput.standard.prompt(question)
        guard let line = try await Interruptible.run({ await StandardInput.lines.first { _ in true } }) else {
            throw CommandFailure(.interrupted, "no answer. Nothing was changed.")
        }
        return line.trimmingCharacters(in: .whitespaces)
    }
}

extension BottleInRange {
    /// The bottles with a constant address, which can be adopted. Strongest signal first.
    static func list(_ found: [Advertisement]) -> [BottleInRange] {
        found.filter { !$0.isAddressPrivate }.compactMap { seen in
            seen.address.map { BottleInRange(address: $0.description, name: seen.name, rssi: seen.rssi) }
        }.sorted { ($0.rssi ?? .min, $1.address) > ($1.rssi ?? .min, $0.address) }
    }
}

extension PollOptions {
    /// Sets the bottle that a command uses: the named bottle, else the bottles of the configuration.
    mutating func select(_ wanted: String?, _ file: Configuration) {
        guard wanted == nil, file.bottles.count > 1 else {
            bottle = AdoptedBottle.resolvingAlias(wanted ?? file.bottles.first, among: ownBottles)
            return
        }
        ownBottles = file.bottles.compactMap { text in
            let resolved = AdoptedBottle.resolvingAlias(text, among: ownBottles) ?? text
            let known = ownBottles.first { $0.identities.contains(resolved) || $0.advertisedName == resolved }
            return known ?? BluetoothAddress(resolved).map { AdoptedBottle(identities: [$0.description]) }
        }
    }
}
