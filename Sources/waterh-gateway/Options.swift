import ArgumentParser
import BottleProtocol
import Bluetooth
import CommandSupport
import Foundation
import Gateway
import Store
import TrackerCore

/// The options of commands that open a link to a bottle.
struct LinkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            bluez, bluez:hci1, unix:PATH, stream:PATH, l2cap:ADDRESS, hci:HOST:PORT, esphome:HOST or capture:FILE \
            (default: $WATERH_LINK, else bluez)
            """,
            valueName: "link"))
    var link: String?

    @Option(
        help: ArgumentHelp(
            "Bottle name or address (default: $WATERH_BOTTLE, else the adopted bottles)", valueName: "name"))
    var bottle: String?

    @Option(help: "How GATT values are received over bluez (default: signals)")
    var notifications: LinkFactory.NotificationMethod?

    @Flag(help: "Switch the adapter off and on as a last resort. Other programs that use it are disconnected.")
    var allowPowerCycle = false

    @Flag(help: "Log each step to standard error")
    var verbose = false

    /// The link: the option, the environment, or the default.
    var name: LinkName {
        get throws {
            do {
                return try LinkName(Configuration().link(flag: link))
            } catch {
                throw CommandFailure(.wrongUse, "\(error).")
            }
        }
    }

    /// Opens the link of the options.
    /// - Parameter observe: receives the traffic on links with PDUs.
    /// - Parameter adviser: the command that gives advice.
    func open(observe: (@Sendable (LinkObservation) -> Void)? = nil, by adviser: LinkAdvice.Adviser = .gateway) throws
        -> any CentralLink
    {
        let name = try name
        if notifications != nil {
            guard case .bluez = name else {
                throw CommandFailure(
                    .wrongUse, "--notifications requires --link bluez", advice: "Omit it, or use --link bluez.")
            }
        }
        let isVerbose = verbose
        do {
            return try LinkFactory.central(
                name, notifications: notifications, runtimeFolder: Paths.runtime, proxyKey: Configuration.proxyKey(),
                instruments: LinkInstruments(observe: observe, log: { if isVerbose { Diagnostics.line($0) } }))
        } catch {
            if case .capture(let file) = name { throw Self.unusable(file, error) }
            if case .l2cap = name {
                throw CommandFailure(
                    .wrongUse, "invalid --link '\(name)': expected l2cap:ADDRESS",
                    advice: "Give the address of the bottle, as in l2cap:A4:C1:38:00:00:01.")
            }
            throw CommandFailure(
                .noLink, asSentence(error.description),
                advice: LinkAdvice(linkName: "\(name)", hasRadio: true, by: adviser).about(error.code))
        }
    }

    /// The error of an unusable capture. It is invalid input, not a missing bottle.
    private static func unusable(_ file: String, _ error: LinkError) -> CommandFailure {
        var status = stat()
        guard stat(file, &status) == 0 else {
            return CommandFailure(
                .wrongUse, "cannot open the capture \(file): \(String(cString: strerror(errno)))",
                advice: "Name an existing capture: --link capture:FILE. The directory captures/ has examples.")
        }
        guard access(file, R_OK) == 0 else {
            return CommandFailure(
                .failed, "cannot read the capture \(file): \(String(cString: strerror(errno)))",
                advice: "Check its permissions: ls -l \(file)")
        }
        let reason =
            error.sentence.hasPrefix(file + ": ") ? String(error.sentence.dropFirst(file.count + 2)) : error.sentence
        return CommandFailure(
            .badInput, "cannot replay the capture \(file): \(reason)",
            advice: "List its contents: waterh-replay info \(file)")
    }

    var selectedBottle: String? { Configuration().bottle(flag: bottle) }
}

/// The options of commands that poll into a store.
struct StoreOptions: ParsableArguments {
    @OptionGroup var location: LocationOptions

    @Option(help: "Byte 0 of a record: calendar (year) or strict (1A) (default: the setting bottle.recordDialect)")
    var dialect: RecordDialect?

    @Option(
        help: ArgumentHelp(
            """
            Time zone of the days, such as Europe/Berlin (default: $WATERH_ZONE, else waterh.toml, else the setting \
            day.zone, else the system's)
            """,
            valueName: "zone"))
    var zone: String?

    func namedZone(_ file: Configuration) -> String? { file.zone(flag: zone) }
}

extension LinkFactory.NotificationMethod: ExpressibleByArgument {}

extension RecordDialect: ExpressibleByArgument {}

extension LinkOptions {
    /// Takes missing options from the configuration file.
    func filled(from file: Configuration) -> LinkOptions {
        var filled = self
        filled.link = file.link(flag: link)
        filled.bottle = file.bottle(flag: bottle)
        filled.allowPowerCycle = allowPowerCycle || file.allowPowerCycle == true
        return filled
    }
}
