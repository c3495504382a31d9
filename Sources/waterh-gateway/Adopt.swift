import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import TrackerService

struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "This bottle belongs to this store: polls may drain it without being told its name.",
        discussion: """
            The first bottle that answers an empty store belongs to it by itself. A poll that meets another one leaves \
            it alone and says so. With --release a bottle that was \
            given away or is broken does not belong to this store any more: polls leave it alone, and its device goes \
            from Home Assistant. Its drinks stay.
            """)

    @OptionGroup var place: StoreOptions

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "It is this bottle of the store under a new address: their history is one.", valueName: "name"))
    var other: String?

    @Flag(help: "It does not belong to this store any more; its drinks stay.")
    var release = false

    @Flag(help: "One JSON object on standard output.")
    var json = false

    @Argument(help: "Its address, as scan shows it, or the name that a poll gives it.")
    var address: String

    func validate() throws {
        guard !address.isEmpty, address.utf8.count <= 128, address.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("ADDRESS is an address such as A4:C1:38:01:02:03.")
        }
        guard !release || other == nil else { throw ValidationError("Either --as or --release.") }
    }

    func run() async throws {
        let text = address.trimmingCharacters(in: .whitespaces)
        let identity = BluetoothAddress(text)?.description ?? text
        guard !release else { return try letGo(identity) }
        // A digit short, it would be another bottle's for ever.
        guard
            BluetoothAddress(identity) != nil || !identity.contains(":")
                || !identity.allSatisfy({ $0 == ":" || $0.isHexDigit })
        else {
            throw CommandFailure(
                .wrongUse, "\(identity) is no whole address.",
                advice: "It has six pairs of digits, as waterh-gateway scan shows it: A4:C1:38:01:02:03.")
        }
        // A name is borne by many; a bottle without an address of its own is named as a poll names it.
        guard !BottleName.isBottle(identity) || identity.contains(" at ") || identity.contains("(private address)")
        else {
            throw CommandFailure(
                .wrongUse, "\(identity) is a name that many bottles bear.",
                advice: "Give its address, as waterh-gateway scan shows it.")
        }
        guard
            BluetoothAddress(identity) != nil || other != nil || BottleName.isBottle(identity)
                || identity.contains(" at ") || identity.contains("(private address)")
        else {
            throw CommandFailure(
                .wrongUse, "\(identity) is neither an address nor a bottle's name.",
                advice: "waterh-gateway scan shows the bottles that are there.")
        }
        // Only now: what is refused must not make a store.
        let file = try Configuration.load(place.config)
        let store = try place.place(file)
        let depot = try Depot(store, zone: place.namedZone(file))
        let isNew = try Depot.explained { try depot.desk().adoptBottle(identity, as: other) }
        if json {
            TextOutput.standard.line((["bottle": .string(identity), "adopted": .bool(isNew)] as JSONValue).text)
        } else {
            let of = other.map { "\($0) under another address" } ?? "this store's own"
            TextOutput.standard.line(isNew ? "\(identity) is \(of) from now on." : "\(identity) was \(of) already.")
        }
    }

    /// What waterh.toml says is this store's would be so again at the next poll.
    private func letGo(_ identity: String) throws {
        let file = try Configuration.load(place.config)
        let store = try place.place(file)
        let named = file.bottles + [file.bottle].compactMap(\.self)
        if named.contains(where: { BluetoothAddress($0)?.description ?? $0 == identity }) {
            throw CommandFailure(
                .refused, "waterh.toml names \(identity) as a bottle of this store.",
                advice: "Take it out there, then try again.")
        }
        let depot = try Depot(store, zone: place.namedZone(file))
        let wasOwn = try Depot.explained { try depot.desk().releaseBottle(identity) }
        if json {
            TextOutput.standard.line((["bottle": .string(identity), "released": .bool(wasOwn)] as JSONValue).text)
        } else {
            TextOutput.standard.line(
                wasOwn
                    ? "\(identity) is not this store's own any more. Its drinks stay."
                    : "\(identity) was not this store's own.")
        }
    }
}
