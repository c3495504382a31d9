import DBus
import Foundation
import TrackerCore

/// The day as an icon among the desktop's status items: a ring that closes, and a menu that logs (StatusNotifierItem;
/// tracker law Section 10.10).
///
/// Of several programs of a session one shows it; when that one goes, another takes its place. Where nobody draws such
/// icons there is none, and one that comes is told.
public actor TrayItem {
    static let interface = "org.kde.StatusNotifierItem"
    static let path = "/StatusNotifierItem"
    static let watcher = "org.kde.StatusNotifierWatcher"
    static let watcherPath = "/StatusNotifierWatcher"
    private static let pause = Duration.seconds(60)
    /// So many clicks wait to be done; nobody clicks so fast.
    private static let mostClicks = 16

    nonisolated let executor = QueueExecutor("tray")
    /// Its connection's queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let bus: @Sendable () -> DBusConnection.Bus?
    private let person: String?
    private let act: @Sendable (TrayAction) async -> Void
    private let log: @Sendable (String) -> Void
    private var face: TrayFace?
    /// Names the menu's shape: a host that has an older one asks again.
    private var revision: UInt32 = 1
    private var connection: DBusConnection?
    private var pauseTask: Task<Void, Never>?
    private var trouble: String?
    /// Whether this connection's name is ours, and under which name hosts know the item.
    private var isOurs = false

    /// - Parameters:
    ///   - person: as listed, where several are: each has an icon.
    ///   - act: does what was clicked; one after the other.
    ///   - log: takes a line for the log.
    public init(
        bus: @escaping @Sendable () -> DBusConnection.Bus? = { SessionBus.find() }, person: String? = nil,
        log: @escaping @Sendable (String) -> Void = { _ in },
        act: @escaping @Sendable (TrayAction) async -> Void
    ) {
        (self.bus, self.person, self.log, self.act) = (bus, person, log, act)
    }

    /// The name on the bus whose owner shows the icon.
    public static func name(of person: String?) -> String {
        "org.waterh.Tray" + (person.map { ".\(PlainName.of($0))" } ?? "")
    }

    /// What it shows from now on; `nil`: nothing, and the icon goes.
    public func show(_ new: TrayFace?) {
        let old = face
        guard new != old else { return }
        face = new
        guard let new, old != nil else {
            // It comes and goes with its connection.
            pauseTask?.cancel()
            if let connection { Task { await connection.close() } }
            return
        }
        guard let connection, isOurs else { return }
        let (before, after) = (Self.properties(old ?? new), Self.properties(new))
        let isOther = old?.entries != new.entries
        if isOther { revision &+= 1 }
        let revision = revision
        connection.assumeIsolated { connection in
            for (name, value) in after where before[name] != value {
                connection.setProperty(Self.path, Self.interface, name, value)
            }
            // Who has gone meanwhile hears nothing, and the next one asks.
            for (name, signal) in Self.signals where before[name] != after[name] {
                let status: [DBusValue] = signal == "NewStatus" ? [after[name] ?? .string("Active")] : []
                try? connection.emit(path: Self.path, interface: Self.interface, signal, status)
            }
            if isOther {
                try? connection.emit(
                    path: TrayMenu.path, interface: TrayMenu.interface, "LayoutUpdated", [.uint32(revision), .int32(0)])
            }
        }
    }

    /// Goes on until its task is cancelled.
    public func run() async {
        let (clicks, click) = AsyncStream.makeStream(
            of: TrayAction.self, bufferingPolicy: .bufferingNewest(Self.mostClicks))
        let doing = Task { [act] in for await action in clicks { await act(action) } }
        while !Task.isCancelled {
            var length = Self.pause
            if face != nil, let bus = bus(), let made = try? await DBusConnection.open(bus, on: executor) {
                await serve(made, click)
                length = .seconds(1)
            }
            guard !Task.isCancelled else { break }
            let pause = Task { _ = try? await Task.sleep(for: length) }
            pauseTask = pause
            await withTaskCancellationHandler {
                await pause.value
            } onCancel: {
                pause.cancel()
            }
        }
        click.finish()
        doing.cancel()
        await doing.value
    }

    // MARK: - On the bus

    /// One connection, until it ends, the face goes, or the task is cancelled.
    private func serve(_ made: DBusConnection, _ click: AsyncStream<TrayAction>.Continuation) async {
        connection = made
        defer { (connection, isOurs) = (nil, false) }
        do {
            try await withTaskCancellationHandler {
                await export(made, click)
                let name = Self.name(of: person)
                _ = try await made.watchName(name) { [weak self, weak made] owner in
                    guard let made else { return }
                    self?.assumeIsolated { $0.hears(owner: owner, made) }
                }
                _ = try await made.watchName(Self.watcher) { [weak self, weak made] owner in
                    guard let made, owner != nil else { return }
                    self?.assumeIsolated { $0.register(made) }
                }
                if try await made.requestName(name, waits: true) { hears(owner: await made.uniqueName, made) }
                if face != nil { await Self.end(of: made) }
            } onCancel: {
                Task { await made.close() }
            }
        } catch {
            complain("\(error)")
        }
        await made.close()
    }

    private static func end(of connection: DBusConnection) async {
        await withCheckedContinuation { continuation in
            Task { await connection.whenClosed { continuation.resume() } }
        }
    }

    private func hears(owner: String?, _ made: DBusConnection) {
        let isOurs = owner == made.assumeIsolated { $0.uniqueName }
        guard isOurs != self.isOurs, connection === made else { return }
        self.isOurs = isOurs
        guard isOurs, let face else { return }
        // It may be another by now than when the connection was made.
        made.assumeIsolated { connection in
            for (name, value) in Self.properties(face) {
                connection.setProperty(Self.path, Self.interface, name, value)
            }
        }
        register(made)
    }

    /// Tells who draws such icons that there is one. Where nobody does, whoever comes is told.
    private func register(_ made: DBusConnection) {
        guard isOurs, connection === made else { return }
        let log = log
        made.assumeIsolated { connection in
            // By our own name on the bus: the item stands at the path that everybody expects.
            let call = DBusCall(
                Self.watcher, Self.watcherPath, Self.watcher, "RegisterStatusNotifierItem",
                [.string(connection.uniqueName)])
            connection.call(call, limit: .seconds(10)) { [weak self] answer in
                self?.assumeIsolated { item in
                    switch answer {
                    case .success:
                        item.trouble = nil
                        log("The day is an icon among the desktop's status items.")
                    case .failure(let failure)
                    where [DBusFailure.serviceUnknown, "org.freedesktop.DBus.Error.NameHasNoOwner"].contains(
                        failure.name):
                        break
                    case .failure(let failure): item.complain("\(failure)")
                    }
                }
            }
        }
    }

    /// Once until it changes.
    private func complain(_ words: String) {
        guard trouble != words, !Task.isCancelled else { return }
        trouble = words
        log("The icon among the desktop's status items cannot be shown: \(words)")
    }

    private func export(_ made: DBusConnection, _ click: AsyncStream<TrayAction>.Continuation) async {
        guard let face else { return }
        let (item, menu) = (itemInterface(face, click), menuInterface(click))
        await made.export(Self.path, [item])
        await made.export(TrayMenu.path, [menu])
    }

    private static let signals: [(name: String, signal: String)] = [
        ("Title", "NewTitle"), ("IconPixmap", "NewIcon"), ("AttentionIconPixmap", "NewAttentionIcon"),
        ("ToolTip", "NewToolTip"), ("Status", "NewStatus"),
    ]
    private static let pixmapType = DBusType.structure([.int32, .int32, .array(.byte)])

    private static func properties(_ face: TrayFace) -> [String: DBusValue] {
        let ring = TrayRing(progress: (face.progress * 100).rounded() / 100, urgency: face.urgency)
        let pixmaps = DBusValue.array(
            pixmapType,
            TrayRing.sizes.map { DBusValue.structure([.int32(Int32($0)), .int32(Int32($0)), .bytes(ring.pixels($0))]) })
        let none = DBusValue.array(pixmapType, [])
        return [
            "Category": .string("ApplicationStatus"), "Id": .string("waterh"), "Title": .string(face.title),
            "Status": .string(face.needsAttention ? "NeedsAttention" : "Active"),
            "WindowId": .int32(0), "IconName": .string(""), "IconPixmap": pixmaps, "OverlayIconName": .string(""),
            "OverlayIconPixmap": none, "AttentionIconName": .string(""),
            "AttentionIconPixmap": pixmaps, "AttentionMovieName": .string(""), "IconThemePath": .string(""),
            "ItemIsMenu": .boolean(false), "Menu": .objectPath(TrayMenu.path),
            "ToolTip": .structure([
                .string(""), none, .string(face.title),
                .string(face.lines.map(DesktopMessage.escaped).joined(separator: "\n")),
            ]),
        ]
    }

    private func itemInterface(_ face: TrayFace, _ click: AsyncStream<TrayAction>.Continuation) -> DBusInterface {
        let point = [DBusArgument("x", "i"), DBusArgument("y", "i")]
        return DBusInterface(
            Self.interface,
            methods: [
                DBusMethod("Activate", input: point) { _ in
                    click.yield(.open)
                    return .done
                },
                // With the middle button: one action, and a sip is logged.
                DBusMethod("SecondaryActivate", input: point) { [weak self] _ in
                    self?.assumeIsolated { item in
                        guard let cup = item.face?.entries.first(where: { $0.id == TrayFace.cup })?.action else {
                            return
                        }
                        click.yield(cup)
                    }
                    return .done
                },
                DBusMethod("ContextMenu", input: point) { _ in .done },
                DBusMethod("Scroll", input: [DBusArgument("delta", "i"), DBusArgument("orientation", "s")]) { _ in .done
                },
            ],
            properties: Self.properties(face).mapValues { DBusProperty($0) },
            signals: Self.signals.map {
                DBusSignalShape($0.signal, arguments: $0.signal == "NewStatus" ? [DBusArgument("status", "s")] : [])
            })
    }

    // MARK: - The menu

    private func menuInterface(_ click: AsyncStream<TrayAction>.Continuation) -> DBusInterface {
        func asked(_ body: @escaping @Sendable (isolated TrayItem, [DBusValue]) -> DBusAnswer)
            -> @Sendable (DBusInvocation) -> DBusAnswer
        {
            { [weak self] call in
                self?.assumeIsolated { body($0, call.arguments) } ?? .failure(DBusFailure.failed, "the menu has gone")
            }
        }
        return DBusInterface(
            TrayMenu.interface,
            methods: [
                DBusMethod(
                    "GetLayout",
                    input: [.init("parentId", "i"), .init("recursionDepth", "i"), .init("propertyNames", "as")],
                    output: [.init("revision", "u"), .init("layout", TrayMenu.layoutType)],
                    answer: asked { item, given in
                        let parent = given[0].integer ?? 0
                        guard
                            let layout = item.menu.layout(
                                parent, depth: given[1].integer ?? -1, names: given[2].texts ?? [])
                        else { return Self.missing(parent) }
                        return .values([.uint32(item.revision), layout])
                    }),
                DBusMethod(
                    "GetGroupProperties", input: [.init("ids", "ai"), .init("propertyNames", "as")],
                    output: [.init("properties", "a(ia{sv})")],
                    answer: asked { item, given in
                        .values([
                            item.menu.group(
                                (given[0].elements ?? []).compactMap(\.integer), names: given[1].texts ?? [])
                        ])
                    }),
                DBusMethod(
                    "GetProperty", input: [.init("id", "i"), .init("name", "s")], output: [.init("value", "v")],
                    answer: asked { item, given in
                        let id = given[0].integer ?? 0
                        guard let value = item.menu.property(id, given[1].text ?? "") else { return Self.missing(id) }
                        return .values([.variant(value)])
                    }),
                DBusMethod(
                    "Event",
                    input: [.init("id", "i"), .init("eventId", "s"), .init("data", "v"), .init("timestamp", "u")],
                    answer: asked { item, given in
                        let id = given[0].integer ?? -1
                        guard item.menu.isThere(id) else { return Self.missing(id) }
                        item.happened(id, given[1].text, click)
                        return .done
                    }),
                DBusMethod(
                    "EventGroup", input: [.init("events", "a(isvu)")], output: [.init("idErrors", "ai")],
                    answer: asked { item, given in
                        var unknown: [DBusValue] = []
                        for event in given[0].elements ?? [] {
                            guard let parts = event.elements, parts.count == 4, let id = parts[0].integer else {
                                continue
                            }
                            if item.menu.isThere(id) {
                                item.happened(id, parts[1].text, click)
                            } else {
                                unknown.append(.int32(Int32(clamping: id)))
                            }
                        }
                        return .values([.array(.int32, unknown)])
                    }),
                DBusMethod(
                    "AboutToShow", input: [.init("id", "i")], output: [.init("needUpdate", "b")],
                    answer: asked { item, given in
                        item.menu.isThere(given[0].integer ?? -1)
                            ? .values([.boolean(false)]) : Self.missing(given[0].integer ?? -1)
                    }),
                DBusMethod(
                    "AboutToShowGroup", input: [.init("ids", "ai")],
                    output: [.init("updatesNeeded", "ai"), .init("idErrors", "ai")],
                    answer: asked { item, given in
                        let unknown = (given[0].elements ?? []).compactMap(\.integer).filter { !item.menu.isThere($0) }
                        return .values([
                            .array(.int32, []), .array(.int32, unknown.map { .int32(Int32(clamping: $0)) }),
                        ])
                    }),
            ],
            properties: [
                "Version": DBusProperty(.uint32(3)), "TextDirection": DBusProperty(.string("ltr")),
                "Status": DBusProperty(.string("normal")), "IconThemePath": DBusProperty(.strings([])),
            ],
            signals: [
                DBusSignalShape(
                    "ItemsPropertiesUpdated",
                    arguments: [.init("updatedProps", "a(ia{sv})"), .init("removedProps", "a(ias)")]),
                DBusSignalShape("LayoutUpdated", arguments: [.init("revision", "u"), .init("parent", "i")]),
                DBusSignalShape("ItemActivationRequested", arguments: [.init("id", "i"), .init("timestamp", "u")]),
            ])
    }

    private static func missing(_ id: Int) -> DBusAnswer {
        .failure(DBusFailure.invalidArguments, "there is no entry \(id) in this menu")
    }

    private var menu: TrayMenu { TrayMenu(entries: face?.entries ?? []) }

    private func happened(_ id: Int, _ what: String?, _ click: AsyncStream<TrayAction>.Continuation) {
        guard what == "clicked", let action = menu.action(id) else { return }
        click.yield(action)
    }
}
