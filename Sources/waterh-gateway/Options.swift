import ArgumentParser
import BottleProtocol
import Bluetooth
import CommandSupport
import Foundation
import Gateway
import Store
import TrackerCore

/// Which way to the bottle, and which bottle.
struct LinkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            bluez, bluez:hci1, unix:PATH, stream:PATH, l2cap:ADDRESS, hci:HOST:PORT, esphome:HOST or capture:FILE. \
            Default: $WATERH_LINK, else bluez.
            """,
            valueName: "link"))
    var link: String?

    @Option(
        help: ArgumentHelp(
            "The bottle's name or address. Default: $WATERH_BOTTLE, else the first one found.", valueName: "name"))
    var bottle: String?

    @Option(
        help:
            """
            Over bluez: take the bottle's values by signals or by socket. The documentation's page on adapters \
            tells them apart.
            """
    )
    var notifications: LinkFactory.NotificationWay?

    @Flag(help: "Allow switching the adapter off and on when nothing else helps. It disturbs everybody on the adapter.")
    var allowPowerCycle = false

    @Flag(help: "Say on standard error what is being done.")
    var verbose = false

    /// The link that is meant: the flag, the environment, or the default.
    var name: LinkName {
        get throws {
            do {
                return try LinkName(Configuration().link(flag: link))
            } catch {
                throw CommandFailure(.wrongUse, "\(error).")
            }
        }
    }

    /// - Parameter observe: hears what passes, on links that carry PDUs themselves.
    /// - Parameter adviser: who says what can be tried.
    func open(observe: (@Sendable (LinkObservation) -> Void)? = nil, by adviser: LinkAdvice.Adviser = .gateway) throws
        -> any CentralLink
    {
        let name = try name
        if notifications != nil {
            guard case .bluez = name else {
                throw CommandFailure(
                    .wrongUse, "--notifications is bluetoothd's business.", advice: "Leave it out, or use --link bluez."
                )
            }
        }
        let isVerbose = verbose
        do {
            return try LinkFactory.central(
                name, notifications: notifications, runtimeFolder: Paths.runtime, proxyKey: Configuration.proxyKey(),
                instruments: LinkInstruments(observe: observe, log: { if isVerbose { Diagnostics.line($0) } }))
        } catch {
            if case .capture(let file) = name { throw Self.unusable(file, error) }
            throw CommandFailure(
                .noLink, sentence(error.description),
                advice: LinkAdvice(linkName: "\(name)", hasRadio: true, by: adviser).about(error.code))
        }
    }

    /// A capture that cannot answer is no absent bottle: there is no such file, or its bytes are no recorded bottle.
    private static func unusable(_ file: String, _ error: LinkError) -> CommandFailure {
        var status = stat()
        guard stat(file, &status) == 0 else {
            return CommandFailure(
                .wrongUse, "There is no capture \(file): \(String(cString: strerror(errno))).",
                advice: "Name a recording that is there: --link capture:FILE. captures/ has some.")
        }
        guard access(file, R_OK) == 0 else {
            return CommandFailure(
                .failed, "The capture \(file) cannot be read: \(String(cString: strerror(errno))).",
                advice: "Look who may read it (ls -l).")
        }
        let said =
            error.sentence.hasPrefix(file + ": ") ? String(error.sentence.dropFirst(file.count + 2)) : error.sentence
        return CommandFailure(
            .badInput, "The capture \(file) cannot answer: \(said)\(said.hasSuffix(".") ? "" : ".")",
            advice: "'waterh-replay info \(file)' tells what is in it.")
    }

    var wantedBottle: String? { Configuration().bottle(flag: bottle) }
}

/// Which store, and how its records are read.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The store's file. Default: $WATERH_STORE, else what waterh.toml says, else \
            ~/.local/state/waterh/waterh.sqlite.
            """,
            valueName: "file"), completion: .file())
    var store: String?

    @Option(
        help: ArgumentHelp(
            "TOML. Default: ~/.config/waterh/waterh.toml, else /etc/waterh/waterh.toml.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        help:
            """
            How byte 0 of a record is read: calendar (its year) or strict (always 1A). Default: the setting \
            bottle.recordDialect.
            """
    )
    var dialect: RecordDialect?

    @Option(
        help: ArgumentHelp(
            """
            The time zone of the days, e.g. Europe/Berlin, and of the bottle's clock where the setting \
            bottle.timeZone names no other. Default: $WATERH_ZONE, else what waterh.toml says, else the setting \
            day.zone, else the system's.
            """,
            valueName: "zone"))
    var zone: String?

    /// Where the store is, by flags, environment and configuration.
    func place(_ file: Configuration) throws -> StorePlace { try StorePlace.find(store, file) }

    /// The zone that is named anywhere but in the settings.
    func namedZone(_ file: Configuration) -> String? { file.zone(flag: zone) }
}

extension LinkFactory.NotificationWay: ExpressibleByArgument {}

extension RecordDialect: ExpressibleByArgument {}

/// A sentence begins with a capital and ends with a full stop.
func sentence(_ text: String) -> String {
    let start = text.prefix(1).uppercased() + text.dropFirst()
    return start.last.map { ".!?".contains($0) } == true ? start : start + "."
}

extension LinkOptions {
    /// Fills in from the file what neither a flag nor the environment says.
    mutating func fill(_ file: Configuration) {
        link = file.link(flag: link)
        bottle = file.bottle(flag: bottle)
        allowPowerCycle = allowPowerCycle || file.allowPowerCycle == true
    }
}
