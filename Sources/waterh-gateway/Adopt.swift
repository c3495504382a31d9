import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import TrackerCore
import TrackerService

struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt", abstract: "Assign a bottle to this store",
        discussion: """
            Only adopted bottles are polled. --mode take-over acknowledges records: the phone app no longer receives \
            them. --mode share only reads the log; drinks that the app fetches first are missing here. On a terminal \
            the command asks for the mode.
            """)

    @OptionGroup var storeOptions: LocationOptions

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Bottle of this store whose new address this is: both share one history", valueName: "name"))
    var other: String?

    @Option(help: "How the bottle is used (default: the setting bottle.mode)")
    var mode: BottleMode?

    @Flag(help: "Release the bottle: it is no longer polled. Its drinks stay.")
    var release = false

    @Flag(help: "Print one JSON object")
    var json = false

    @Argument(help: "Bluetooth address of the bottle, as scan prints it")
    var address: String

    func validate() throws {
        guard !address.isEmpty, address.utf8.count <= 128, address.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("invalid address: expected an address such as A4:C1:38:01:02:03")
        }
        guard !release || other == nil && mode == nil else {
            throw ValidationError("--release cannot be used with --as or --mode")
        }
    }

    func run() async throws {
        let text = address.trimmingCharacters(in: .whitespaces)
        let identity = BluetoothAddress(text)?.description ?? text
        let (file, store) = try storeOptions.load()
        guard !release else { return try releaseBottle(identity, file, store) }
        try check(identity)
        // A rejected adoption must not create a store.
        guard !Adoption.bottlesOfOtherServices(than: store.path).contains(identity) else {
            throw Adoption.belongsToOther(identity)
        }
        var choice = AdoptionChoice(mode: mode)
        if mode == nil, other == nil, !json, TextOutput.isInteractive { choice = try await Adoption.choice() }
        let provider = try StoreProvider(store, zone: storeOptions.namedZone(file))
        let isNew = try provider.tracker().adopt(identity, as: other, choice)
        _ = try? ServiceSocket(path: ServiceSocket.path(forStore: store.path), limitSeconds: 2).post("/api/v1/poll")
        if json {
            TextOutput.standard.line(["bottle": .string(identity), "adopted": .bool(isNew)])
        } else {
            let note = other.map { " as another address of \($0)" } ?? ""
            TextOutput.standard.line(isNew ? "Adopted \(identity)\(note)." : "\(identity) is already adopted\(note).")
        }
    }

    /// Rejects a text that is neither an address nor a substitute identity. Names are not unique.
    private func check(_ identity: String) throws {
        let isSubstitute = identity.contains(" at ") || identity.contains("(private address)")
        let isPartOfAddress = identity.contains(":") && identity.allSatisfy { $0 == ":" || $0.isHexDigit }
        guard BluetoothAddress(identity) == nil else { return }
        guard isSubstitute || other != nil && !isPartOfAddress && !BottleName.isBottle(identity) else {
            throw CommandFailure(
                .wrongUse, "invalid address '\(identity)': expected six pairs of hexadecimal digits",
                advice: "See the addresses in range with: waterh-gateway scan")
        }
    }

    private func releaseBottle(_ identity: String, _ file: Configuration, _ store: StoreLocation) throws {
        let named = file.bottles + [file.bottle].compactMap(\.self)
        if named.contains(where: { BluetoothAddress($0)?.description ?? $0 == identity }) {
            throw CommandFailure(
                .refused, "cannot release \(identity): the configuration names it",
                advice: "Remove it from 'bottle' or 'bottles' in waterh.toml, then try again.")
        }
        let provider = try StoreProvider(store, zone: storeOptions.namedZone(file))
        let wasAdopted = try provider.tracker().releaseBottle(identity)
        if json {
            TextOutput.standard.line(["bottle": .string(identity), "released": .bool(wasAdopted)])
        } else {
            TextOutput.standard.line(
                wasAdopted ? "Released \(identity). Its drinks stay." : "\(identity) was not adopted by this store.")
        }
    }
}

extension BottleMode: ExpressibleByArgument {}
