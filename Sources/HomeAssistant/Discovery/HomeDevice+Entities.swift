import TrackerCore
import TrackerService

extension HomeDevice {
    typealias Fields = [String: HomeComponent.Value]

    /// Seconds without an update after which current values expire.
    static let expirySeconds = 900

    private static let expires: Fields = ["expire_after": .whole(expirySeconds)]
    private static let diagnostic: Fields = ["entity_category": "diagnostic"]
    private static let amount: Fields = ["device_class": "volume_storage", "unit_of_measurement": "mL"]
    private static let amountNow = amount.merging(["state_class": "measurement"]) { $1 }

    static func day(id: String, version: String, topics: Topics, commands: Bool, waterline: Bool) -> HomeDevice {
        let both = waterline && commands
        let components: [HomeComponent] = [
            HomeComponent(
                "sensor", "today", "Today",
                [
                    "device_class": "volume", "unit_of_measurement": "mL", "state_class": "total",
                    "value_template": value("dailyTotalMl"), "last_reset_value_template": value("dayStart", "''"),
                ]),
            HomeComponent(
                "sensor", "lifetime", "Lifetime",
                [
                    "device_class": "water", "unit_of_measurement": "L", "state_class": "total_increasing",
                    "value_template": value("lifetimeLitres"), "suggested_display_precision": 1,
                ]),
            HomeComponent(
                "sensor", "progress", "Progress",
                [
                    "unit_of_measurement": "%", "state_class": "measurement", "icon": "mdi:cup-water",
                    "value_template": value("percent"),
                ]),
            HomeComponent(
                "sensor", "left", "Left today", like: amountNow,
                [
                    "icon": "mdi:cup-outline",
                    "value_template": """
                    {% set day = value_json | default({}) %}{{ [day.get('dailyGoalMl', 0) - \
                    day.get('dailyTotalMl', 0), 0] | max }}
                    """,
                ]),
            HomeComponent(
                "sensor", "behind", "Behind", like: amountNow.merging(expires) { $1 },
                ["value_template": value("deficitMl"), "icon": "mdi:timer-sand"]),
            HomeComponent(
                "sensor", "urgency", "Urgency", like: expires,
                [
                    "device_class": "enum", "options": .texts(["on_track", "behind", "far_behind"]),
                    "value_template": """
                    {{ ['on_track', 'behind', 'far_behind'][(value_json | default({})).get('displayUrgency', 0)] }}
                    """,
                ]),
            HomeComponent(
                "sensor", "next_drink", "Next drink", like: expires,
                ["device_class": "timestamp", "value_template": instant("dueTime")]),
            HomeComponent(
                "sensor", "last_drink", "Last drink",
                ["device_class": "timestamp", "value_template": instant("lastDrinkTime")]),
            HomeComponent(
                "sensor", "drinks", "Drinks today",
                [
                    "state_class": "total", "value_template": value("drinkCount"), "icon": "mdi:counter",
                    "last_reset_value_template": value("dayStart", "''"),
                ]),
            HomeComponent(
                "sensor", "bottles_in_range", "Bottles in range", like: diagnostic,
                [
                    "icon": "mdi:bottle-soda", "json_attributes_topic": .text(topics.state),
                    "value_template": """
                    {{ (((value_json | default({})).get('service') or {}).get('bottlesInRange') or []) \
                    | length }}
                    """,
                    "json_attributes_template": """
                    {{ {'bottles': ((value_json | default({})).get('service') or {}).get('bottlesInRange') or \
                    []} | tojson }}
                    """,
                ]),
            HomeComponent(
                "sensor", "goal", "Goal", isOffered: !commands, like: amount,
                ["value_template": value("dailyGoalMl"), "icon": "mdi:flag-checkered"]),
            HomeComponent(
                "number", "goal_ml", "Goal", isOffered: commands, like: amount,
                [
                    "min": .whole(Settings.goals.lowerBound), "max": .whole(Settings.goals.upperBound), "step": 50,
                    "mode": "box", "value_template": value("dailyGoalMl"), "icon": "mdi:flag-checkered",
                    "command_topic": .text(topics.command("goal")), "entity_category": "config",
                ]),
            HomeComponent(
                "switch", "reminders", "Reminders", isOffered: commands,
                [
                    "value_template": isOn("remindersEnabled"), "command_topic": .text(topics.command("reminders")),
                    "payload_on": "ON", "payload_off": "OFF", "icon": "mdi:bell", "entity_category": "config",
                ]),
            HomeComponent(
                "switch", "bottle_light", "Light of reminders", isOffered: commands,
                [
                    "value_template": isOn("bottleLight"), "command_topic": .text(topics.command("settings")),
                    "payload_on": #"{"bottle.light": "true"}"#, "payload_off": #"{"bottle.light": "false"}"#,
                    "state_on": "ON", "state_off": "OFF", "icon": "mdi:led-on", "entity_category": "config",
                ]),
            button("log_cup", "Log a cup", "mdi:cup", topics.command("log"), #", "ml": "cup""#, isOffered: commands),
            button("undo", "Undo", "mdi:undo", topics.command("undo"), isOffered: commands),
            HomeComponent(
                "event", "sip", "Sip",
                [
                    "state_topic": .text(topics.sip), "icon": "mdi:water",
                    "event_types": .texts(SipPayload.Event.allCases.map(\.rawValue)),
                ]),
            HomeComponent(
                "event", "reminder", "Reminder",
                [
                    "state_topic": .text(topics.notify), "icon": "mdi:bell-ring",
                    "event_types": .texts(NotifyPayload.events),
                ]),
            HomeComponent(
                "binary_sensor", "session", "Session", isOffered: waterline,
                [
                    "state_topic": .text(topics.waterline), "value_template": isOn("isActive"),
                    "icon": "mdi:glass-cocktail",
                ]),
            button("log_water", "Log water", "mdi:water-plus", topics.command("water"), isOffered: both),
            button("log_drink", "Log drink", "mdi:glass-mug-variant", topics.command("drink"), isOffered: both),
        ]
        let name = topics.prefix.split(separator: "/").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return HomeDevice(
            id: "waterh_\(id)", name: name.joined(separator: " "), model: "Day", version: version,
            slug: PlainName.of(topics.prefix), topics: topics, stateTopic: topics.state, components: components)
    }

    /// The device for a bottle.
    /// - Parameter isOnly: whether it is the store's only bottle, to which commands apply.
    static func bottle(
        _ bottle: BottleReport, id: String, version: String, topics: Topics, commands: Bool, isOnly: Bool
    ) -> HomeDevice {
        let own = BottlePayload.id(of: bottle)
        let (offered, name) = (commands && isOnly, bottle.advertisedName ?? bottle.name)
        let components: [HomeComponent] = [
            HomeComponent(
                "sensor", "battery", "Battery", like: diagnostic,
                [
                    "device_class": "battery", "unit_of_measurement": "%", "state_class": "measurement",
                    "value_template": value("batteryPercent"),
                ]),
            HomeComponent(
                "sensor", "last_poll", "Last poll", like: diagnostic,
                ["device_class": "timestamp", "value_template": value("lastPoll")]),
            HomeComponent(
                "sensor", "link", "Link", like: diagnostic.merging(expires) { $1 },
                ["device_class": "enum", "options": .texts(BottlePayload.links), "value_template": value("link")]),
            HomeComponent(
                "sensor", "trouble", "Trouble", like: diagnostic,
                ["value_template": value("trouble"), "icon": "mdi:alert-circle-outline"]),
            HomeComponent(
                "sensor", "clock_drift", "Clock drift", like: diagnostic,
                [
                    "device_class": "duration", "unit_of_measurement": "s", "state_class": "measurement",
                    "value_template": value("clockDriftSeconds"),
                ]),
            button("check", "Check now", "mdi:bluetooth-connect", topics.command("check"), isOffered: commands),
            button("flash", "Flash", "mdi:flash", topics.command("flash"), isOffered: offered),
            select("light", "Light", "mdi:led-on", topics, CommandRequest.lights, isOffered: offered),
            select(
                "bottle-reminder", "Reminder of its own", "mdi:bell-cog", topics, CommandRequest.bottleReminders,
                isOffered: offered),
        ]
        return HomeDevice(
            id: "waterh_\(id)_\(own)", name: name, model: bottle.model ?? "Bottle", version: version,
            slug: PlainName.of(name), topics: topics, stateTopic: topics.bottle(own), components: components)
    }

    // MARK: - Parts

    private static func button(
        _ key: String, _ name: String, _ icon: String, _ topic: String, _ fields: String = "", isOffered: Bool
    ) -> HomeComponent {
        HomeComponent(
            "button", key, name, isOffered: isOffered,
            ["command_topic": .text(topic), "command_template": press(fields), "icon": .text(icon)])
    }

    private static func select(
        _ command: String, _ name: String, _ icon: String, _ topics: Topics, _ options: [String], isOffered: Bool
    ) -> HomeComponent {
        HomeComponent(
            "select", command.replacing("-", with: "_"), name, isOffered: isOffered,
            [
                "command_topic": .text(topics.command(command)), "optimistic": true, "icon": .text(icon),
                "command_template": press(#", "mode": "{{ value }}""#), "options": .texts(options),
                "entity_category": "config",
            ])
    }

    /// The template of a press, with an id, so that duplicates count once, and a time, because it can be delayed.
    private static func press(_ fields: String) -> HomeComponent.Value {
        .text(#"{"transaction": "{{ now().timestamp() }}", "pressed": {{ now().timestamp() }}\#(fields)}"#)
    }

    /// A template for a field. It has a default, because Home Assistant warns about undefined variables.
    private static func value(_ field: String, _ otherwise: String = "none") -> HomeComponent.Value {
        .text("{{ (value_json | default({})).get('\(field)', \(otherwise)) }}")
    }

    private static func isOn(_ field: String) -> HomeComponent.Value {
        .text("{{ 'ON' if (value_json | default({})).get('\(field)') else 'OFF' }}")
    }

    private static func instant(_ field: String) -> HomeComponent.Value {
        .text(
            "{% set at = (value_json | default({})).get('\(field)') %}{{ at | as_datetime if at is number else none }}")
    }
}
